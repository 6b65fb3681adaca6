package scimserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/scimwright/scimwright/internal/processor"
	"github.com/scimwright/scimwright/scim"
	"github.com/scimwright/scimwright/scim/schema"
	"github.com/scimwright/scimwright/scimserver/internal/splice"
)

// Sizes in bytes.
const (
	firstBuffer = 2 << 10   // the initial size of a buffer
	keptBuffer  = 256 << 10 // the maximum size of a buffer that is reused: that of a list of some hundred users
	partRoom    = 256 << 10 // the size of the stored resources that one statement reads, and of a part of a page
	// firstPart is the size up to which a page is complete before its first byte is sent. The largest page of usual resources is smaller.
	firstPart = 1 << 20
	// A stored resource that is larger than largeResource is read only while largeBudget has room for it. For smaller resources, partRoom
	// is the limit. The default of Limits.MaxResource is 1 MiB, but earlier versions stored larger resources.
	largeResource = partRoom
	largeBudget   = 16 << 20
)

// buffers are the memory of a response.
type buffers struct {
	in   []byte       // what was read
	out  []byte       // what is sent
	cuts []splice.Cut // long parts of the text that out does not contain

	// Of a response with one resource.
	text   text
	reply  reply
	single rawResource

	origin origin
}

func (s *server) takeBuffers() *buffers {
	if b, ok := s.buffers.Get().(*buffers); ok {
		return b
	}
	return &buffers{out: make([]byte, 0, firstBuffer)}
}

func (s *server) giveBuffers(b *buffers) {
	clear(b.cuts)
	b.cuts = b.cuts[:0]
	b.text, b.reply, b.single = text{}, reply{}, rawResource{}
	if len(b.origin.base) > 2*keptHost {
		b.origin = origin{}
	}
	if cap(b.in) > keptBuffer {
		b.in = nil
	}
	if cap(b.out) > keptBuffer {
		b.out = nil
	}
	s.buffers.Put(b)
}

// large is a large resource in memory.
type large struct {
	weight int64
	text   []byte // its memory, if it can be used again
}

// readLarge waits until a large resource may be in memory, and reads it. The caller releases the result. The memory of two copies is
// counted: the driver of a database has its own one.
func (s *server) readLarge(ctx context.Context, t *resourceType, raw *Raw, groups bool) (l large, err error) {
	l.weight = min(2*raw.Size, largeBudget)
	if err := s.large.Acquire(ctx, l.weight); err != nil {
		return large{}, err
	}
	var buf []byte
	if kept, ok := s.largeTexts.Get().(*[]byte); ok {
		buf = *kept
	}
	turn, err := s.turns.enterShared(ctx)
	if err != nil {
		s.large.Release(l.weight)
		return large{}, err
	}
	whole, err := s.raw.GetRaw(ctx, t.Name, raw.ID, RawOptions{Groups: groups}, buf)
	turn.moves(2 * len(whole.JSON)) // the driver has copied it, and it will be sent
	turn.leave()
	if err != nil {
		s.large.Release(l.weight)
		return large{}, err
	}
	if *raw = whole; whole.Reusable {
		l.text = whole.JSON
	}
	return l, nil
}

// releaseLarge ends the use of a large resource. Its memory is used again for the next one: otherwise much of it would wait for the garbage
// collector at the same time.
func (s *server) releaseLarge(l *large) {
	if l.text != nil {
		kept := l.text[:0]
		s.largeTexts.Put(&kept)
	}
	s.large.Release(l.weight)
	*l = large{}
}

// text is the body of a response with one resource.
type text struct {
	*buffers
	server *server
	large  large // unless the resource is small
}

func (s *server) newText() *text {
	b := s.takeBuffers()
	b.text = text{buffers: b, server: s}
	return &b.text
}

// release returns the memory of the text to the server.
func (b *text) release() {
	server, buffers := b.server, b.buffers
	server.releaseLarge(&b.large)
	server.giveBuffers(buffers)
}

// compile returns the plan of a projection.
func (t *resourceType) compile(p schema.Projection) *splice.Plan {
	fields := splice.GroupFields
	if t.isGroup {
		fields = splice.MemberFields
	}
	return splice.Compile(t.ResourceType, t.derived(), fields, p)
}

// plan returns the plan of a projection.
func (t *resourceType) plan(p schema.Projection) *splice.Plan {
	if len(p.Attributes) == 0 && len(p.ExcludedAttributes) == 0 && (len(p.Written) == 0 || !t.onRequest) {
		return t.standard
	}
	return t.compile(p)
}

// origin has the prefixes of the locations in a response.
type origin struct {
	server   *server
	base     string
	prefixes []typePrefix
}

// originIn returns the origin of the responses that a buffer is used for. It has the prefixes of earlier responses with the same base.
func (s *server) originIn(b *buffers, base string) *origin {
	if b.origin.base != base || b.origin.server != s {
		b.origin = origin{server: s, base: base}
	}
	return &b.origin
}

type typePrefix struct {
	t    *resourceType
	text []byte
}

// prefix returns the prefix of the locations of a type, as splice.Prefix.
func (o *origin) prefix(t *resourceType) []byte {
	for _, p := range o.prefixes {
		if p.t == t {
			return p.text
		}
	}
	text := splice.Prefix(o.base + "/" + t.path + "/")
	o.prefixes = append(o.prefixes, typePrefix{t, text})
	return text
}

// ofType returns the prefix of the type with the name, or nil if it is not served.
func (o *origin) ofType(name string) []byte {
	for _, p := range o.prefixes {
		if p.t.Name == name {
			return p.text
		}
	}
	if t := o.server.typeNamed(name); t != nil {
		return o.prefix(t)
	}
	return nil
}

// getRaw is get without decoding the resource.
func (s *server) getRaw(r *request, t *resourceType, p schema.Projection) (rep *reply, err error) {
	plan := t.plan(p)
	b := s.newText()
	defer func() {
		if rep == nil || rep.text == nil {
			b.release()
		}
	}()
	raw, err := s.raw.GetRaw(r.Context(), t.Name, r.id, RawOptions{Groups: t.isUser && plan.ShowsDerived(), Longest: largeResource}, b.in[:0])
	if err != nil {
		return nil, err
	}
	if raw.Reusable {
		b.in = raw.JSON
	}
	tag := tagOf(raw.Version)
	if values := r.Header["If-None-Match"]; len(values) > 0 && matchesTag(values, tag) {
		return &reply{status: http.StatusNotModified, etag: tag}, nil
	}
	if raw.JSON == nil {
		if b.large, err = s.readLarge(r.Context(), t, &raw, t.isUser && plan.ShowsDerived()); err != nil {
			return nil, err
		}
	}
	b.single = rawResource{t: t, plan: plan, projection: p, raw: raw}
	if t.isGroup { // may have many members
		turn, err := s.turns.enterShared(r.Context())
		if err != nil {
			return nil, err
		}
		defer func() {
			turn.moves(len(b.out))
			turn.leave()
		}()
	}
	return s.spliceReply(r, b, http.StatusOK, &b.single, tag)
}

// textReply is resourceReply for a record that the server has written. Encoding its resource and splicing the text costs half of the
// time that representing the record costs.
func (s *server) textReply(r *request, t *resourceType, status int, rec *Record, p schema.Projection) (rep *reply, err error) {
	b := s.newText()
	defer func() {
		if rep == nil {
			b.release()
		}
	}()
	raw := Raw{
		ID: rec.ID, Version: rec.Version, Order: rec.Order, Created: rec.Created, LastModified: rec.LastModified, JSON: rec.JSON,
		Groups: rec.Groups,
	}
	if raw.JSON == nil {
		b.in = rec.Resource.AppendJSON(b.in[:0])
		raw.JSON = b.in
	}
	b.single = rawResource{t: t, plan: t.plan(p), projection: p, raw: raw}
	return s.spliceReply(r, b, status, &b.single, tagOf(raw.Version))
}

// spliceReply returns a reply with the representation of a resource. tag is the entity tag of its version.
func (s *server) spliceReply(r *request, b *text, status int, res *rawResource, tag string) (rep *reply, err error) {
	res.origin, res.cuts = s.originIn(b.buffers, r.base), &b.cuts
	version := res.raw.Version
	if res.t.isUser && res.plan.ShowsDerived() {
		if res.groups, err = s.groupsOfRaw(r.Context(), &res.raw); err != nil {
			return nil, err
		}
	}
	var raw Raw
	if raw, b.out, err = s.appendRaw(r.Context(), b.out[:0], res); err != nil {
		return nil, err
	}
	if raw.Version != version { // the group has changed while its members were read
		tag = tagOf(raw.Version)
	}
	b.buffers.reply = reply{status: status, location: location(r.base, res.t, raw.ID), etag: tag, text: b}
	return &b.buffers.reply, nil
}

// rawResource is a resource with what its representation needs.
type rawResource struct {
	origin     *origin
	t          *resourceType
	plan       *splice.Plan
	projection schema.Projection
	raw        Raw
	groups     []group       // of a user
	cuts       *[]splice.Cut // see splice.Resource
	spliced    splice.Resource
}

// appendRaw appends the representation of a resource. For a group that changes while its members are read, it returns the version that
// matches the members.
func (s *server) appendRaw(ctx context.Context, dst []byte, res *rawResource) (Raw, []byte, error) {
	if res.t.isGroup && res.plan.ShowsDerived() {
		return s.appendGroup(ctx, dst, res)
	}
	var elements func(dst []byte) []byte
	if len(res.groups) > 0 {
		elements = func(dst []byte) []byte { return s.appendGroups(dst, res) }
	}
	out, ok := res.plan.Append(dst, res.resource(), elements)
	if ok {
		return res.raw, out, nil
	}
	res.dropCuts(len(dst))
	return s.appendDecoded(ctx, dst, res)
}

func (res *rawResource) resource() *splice.Resource {
	res.spliced = splice.Resource{
		ID: res.raw.ID, JSON: res.raw.JSON, Created: res.raw.Created, LastModified: res.raw.LastModified, Version: res.raw.Version,
		Location: res.origin.prefix(res.t), Cuts: res.cuts,
	}
	return &res.spliced
}

// dropCuts removes the cuts at or after an offset of the representation, whose text from there on is then written again.
func (res *rawResource) dropCuts(after int) {
	for res.cuts != nil && len(*res.cuts) > 0 && (*res.cuts)[len(*res.cuts)-1].At >= after {
		*res.cuts = (*res.cuts)[:len(*res.cuts)-1]
	}
}

// cutSize returns the number of bytes of cuts.
func cutSize(cuts []splice.Cut) (n int64) {
	for _, c := range cuts {
		n += int64(len(c.Text))
	}
	return n
}

// writePieces writes a text, which starts at an offset of the buffer, with its cuts.
func (s *server) writePieces(w io.Writer, text []byte, offset int, cuts []splice.Cut) error {
	from := 0
	for _, c := range cuts {
		if err := s.writePiece(w, text[from:c.At-offset]); err != nil {
			return err
		}
		from = c.At - offset
		if err := s.writePiece(w, c.Text); err != nil {
			return err
		}
	}
	return s.writePiece(w, text[from:])
}

// pieceSize is the number of bytes after which a write lets other threads run.
const pieceSize = 256 << 10

func (s *server) writePiece(w io.Writer, text []byte) error {
	for len(text) > pieceSize {
		if _, err := w.Write(text[:pieceSize]); err != nil {
			return err
		}
		text = text[pieceSize:]
		s.turns.pause()
	}
	_, err := w.Write(text)
	return err
}

// appendDecoded appends the representation of a resource whose stored text has an unusual form.
func (s *server) appendDecoded(ctx context.Context, dst []byte, res *rawResource) (Raw, []byte, error) {
	rec, err := res.record()
	if err != nil {
		return Raw{}, nil, err
	}
	recs := []*Record{rec}
	full, err := s.represent(ctx, res.origin.base, res.t, recs, res.projection)
	if err != nil {
		return Raw{}, nil, err
	}
	raw := res.raw
	raw.Version = recs[0].Version
	return raw, full[0].AppendJSON(dst), nil
}

// record decodes the resource.
func (res *rawResource) record() (*Record, error) {
	resource, err := scim.DecodeResource(res.raw.JSON)
	if err != nil {
		return nil, fmt.Errorf("%s %q: stored resource: %w", res.t.Name, res.raw.ID, err)
	}
	return &Record{
		Type: res.t.Name, ID: res.raw.ID, Version: res.raw.Version, Order: res.raw.Order, Created: res.raw.Created,
		LastModified: res.raw.LastModified, Resource: resource, Groups: res.raw.Groups,
	}, nil
}

// appendGroup appends the representation of a group with its members, in a consistent state; see consistentGroup.
func (s *server) appendGroup(ctx context.Context, dst []byte, res *rawResource) (Raw, []byte, error) {
	start := len(dst)
	for attempt := 1; ; attempt++ {
		res.dropCuts(start)
		if attempt == consistencyAttempts {
			unlock, err := s.locks.lock(ctx, res.raw.ID)
			if err != nil {
				return Raw{}, nil, err
			}
			defer unlock()
		}
		var err error
		out, ok := res.plan.Append(dst[:start], res.resource(), func(dst []byte) []byte {
			dst, err = s.appendMembers(ctx, dst, res)
			return dst
		})
		switch {
		case err != nil:
			return Raw{}, nil, fmt.Errorf("read the members of a group: %w", err)
		case !ok:
			res.dropCuts(start)
			return s.appendDecoded(ctx, dst[:start], res)
		}
		dst = out
		now, err := s.raw.GetRaw(ctx, res.t.Name, res.raw.ID, RawOptions{Longest: 1}, nil) // its text is not read
		switch {
		case errors.Is(err, ErrNotFound): // deleted in the meantime, together with its members
			res.dropCuts(start)
			out, _ := res.plan.Append(dst[:start], res.resource(), nil)
			return res.raw, out, nil
		case err != nil:
			return Raw{}, nil, err
		case now.Version == res.raw.Version || attempt > consistencyAttempts:
			return res.raw, dst, nil
		}
		if now, err = s.raw.GetRaw(ctx, res.t.Name, res.raw.ID, RawOptions{}, nil); err == nil {
			res.raw = now
		} else if !errors.Is(err, ErrNotFound) {
			return Raw{}, nil, err
		}
	}
}

// yieldMembers is the number of members after which appendMembers lets other threads run.
const yieldMembers = 512

// appendMembers appends the members of a group as the database returns them.
func (s *server) appendMembers(ctx context.Context, dst []byte, res *rawResource) ([]byte, error) {
	var e splice.Element
	n := 0
	err := s.raw.EachMember(ctx, res.raw.ID, func(m *Member) error {
		if n++; n%yieldMembers == 0 {
			processor.Yield()
		}
		if e.Type != m.Type {
			e.Type, e.Location = m.Type, res.origin.ofType(m.Type)
		}
		e.Value, e.Display = m.ID, m.Display
		dst = res.plan.AppendElement(dst, &e)
		return nil
	})
	return dst, err
}

// appendGroups appends the groups of a user.
func (s *server) appendGroups(dst []byte, res *rawResource) []byte {
	var prefix []byte
	for _, t := range s.types {
		if t.isGroup {
			prefix = res.origin.prefix(t)
		}
	}
	for _, g := range res.groups {
		e := splice.Element{Value: g.Group, Location: prefix, Type: "direct", Display: g.Display}
		if g.indirect {
			e.Type = "indirect"
		}
		dst = res.plan.AppendElement(dst, &e)
	}
	return dst
}

// groupsOfRaw returns the groups of a user.
func (s *server) groupsOfRaw(ctx context.Context, raw *Raw) ([]group, error) {
	if raw.Groups != nil && len(raw.Groups) == 0 {
		return nil, nil
	}
	of, err := s.groupsOf(ctx, []*Record{{ID: raw.ID, Groups: raw.Groups}})
	return of[raw.ID], err
}
