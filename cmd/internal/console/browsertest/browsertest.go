// Package browsertest drives a Chromium for tests of pages. It speaks the Chrome DevTools Protocol over two pipes, and needs no other
// program and no library.
package browsertest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// Patience is the maximum time that Wait waits.
	Patience = 60 * time.Second

	pollStep = 50 * time.Millisecond
	callTime = 60 * time.Second
)

// The variables that configure the tests.
const (
	requireVariable     = "SCIMWRIGHT_REQUIRE_CHROMIUM" // not empty: a missing browser fails the test
	screenshotsVariable = "SCIMWRIGHT_SCREENSHOTS"      // directory for Screenshot
	axeVariable         = "SCIMWRIGHT_AXE"              // file axe.min.js of the npm package axe-core
)

// names are the programs that are searched for.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Browser is a browser with one page.
type Browser struct {
	*process

	t         testing.TB
	program   string
	session   string
	opened    bool           // a page is or was open
	emulation map[string]any // the parameters by method

	withoutAxe sync.Once // a message

	heard  sync.Mutex
	urls   []string // of all requests
	faults []string // exceptions, and violations of the policy of a page
}

// process is a running browser.
type process struct {
	cmd *exec.Cmd
	in  *os.File // commands

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	ended   chan struct{}
}

var errEnded = errors.New("the browser has ended")

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// Start starts a browser, and stops it at the end of the test. Without an installed browser, the test is skipped.
func Start(t testing.TB) *Browser {
	t.Helper()
	program := ""
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		if os.Getenv(requireVariable) != "" {
			t.Fatal("no Chromium is installed")
		}
		t.Skip("no Chromium is installed: on Debian, install the package chromium")
	}
	b := &Browser{t: t, program: program, emulation: map[string]any{}}
	check(t, b.launch())
	b.Size(1440, 1000)
	return b
}

// launch starts the program with an empty page and the present emulation.
func (b *Browser) launch() error {
	toBrowser, in, err := os.Pipe()
	check(b.t, err)
	out, fromBrowser, err := os.Pipe()
	check(b.t, err)
	b.process = &process{in: in, waiting: map[int]chan answer{}, ended: make(chan struct{})}
	b.cmd = exec.Command(b.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+b.t.TempDir(), "--remote-debugging-pipe", "about:blank")
	b.cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // file descriptors 3 and 4
	check(b.t, b.cmd.Start())
	_, _ = toBrowser.Close(), fromBrowser.Close()
	go b.read(b.process, out)
	b.t.Cleanup(b.process.stop)
	ctx, cancel := context.WithTimeout(b.t.Context(), callTime)
	defer cancel()
	var target struct{ TargetID string }
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		if err := b.call(ctx, b.session, domain+".enable", nil, nil); err != nil {
			return err
		}
	}
	for method, params := range b.emulation {
		if err := b.call(ctx, b.session, method, params, nil); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the browser.
func (p *process) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	_, _ = p.send(ctx, "", "Browser.close", nil)
	_ = p.in.Close()
	killing := time.AfterFunc(callTime, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait()
	killing.Stop()
	<-p.ended
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read receives the messages of the browser, each ended by a zero byte.
func (b *Browser) read(from *process, out *os.File) {
	defer close(from.ended)
	defer out.Close()
	for r := bufio.NewReader(out); ; {
		data, err := r.ReadBytes(0)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				b.t.Log("browser:", err)
			}
			return
		}
		var m struct {
			answer

			ID     int
			Method string
			Params struct {
				Request          struct{ URL string }
				ExceptionDetails struct {
					Text      string
					Exception struct{ Description string }
				}
				Entry struct{ Source, Level, Text, URL string }
			}
		}
		if json.Unmarshal(data[:len(data)-1], &m) != nil {
			continue
		}
		if m.Method == "" {
			from.receive(m.ID, m.answer)
			continue
		}
		b.heard.Lock()
		switch p := m.Params; m.Method {
		case "Network.requestWillBeSent":
			b.urls = append(b.urls, p.Request.URL)
		case "Runtime.exceptionThrown":
			b.faults = append(b.faults, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
		case "Log.entryAdded":
			if p.Entry.Source == "security" || p.Entry.Source == "javascript" {
				b.faults = append(b.faults, p.Entry.Text+" "+p.Entry.URL)
			}
		}
		b.heard.Unlock()
	}
}

// receive passes an answer to the caller that waits for it.
func (p *process) receive(id int, a answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.waiting[id]; c != nil {
		delete(p.waiting, id)
		c <- a
	}
}

// send sends a command, and returns its result.
func (p *process) send(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	c := make(chan answer, 1)
	p.mu.Lock()
	p.next++
	id := p.next
	p.waiting[id] = c
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = p.in.Write(append(data, 0))
	}
	p.mu.Unlock()
	if err != nil {
		return nil, errors.Join(errEnded, err)
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return nil, errors.New(a.Error.Message)
		}
		return a.Result, nil
	case <-p.ended:
		return nil, errEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// call sends a command, and decodes the result unless into is nil.
func (b *Browser) call(ctx context.Context, session, method string, params, into any) error {
	result, err := b.send(ctx, session, method, params)
	if err == nil && into != nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Command sends a command of the protocol to the page, and decodes the result unless into is nil.
func (b *Browser) Command(method string, params, into any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), callTime)
	defer cancel()
	check(b.t, b.call(ctx, b.session, method, params, into))
}

// emulate sends a command that lasts until the next one of the same method.
func (b *Browser) emulate(method string, params any) {
	b.t.Helper()
	b.Command(method, params, nil)
	b.emulation[method] = params
}

// Eval returns the value of a JavaScript expression, which may be a promise.
func (b *Browser) Eval(expression string) any {
	b.t.Helper()
	value, err := b.eval(expression)
	check(b.t, err)
	return value
}

func (b *Browser) eval(expression string) (any, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), callTime)
	defer cancel()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := b.call(ctx, b.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &r); err != nil {
		return nil, err
	}
	if e := r.ExceptionDetails; e != nil {
		return nil, fmt.Errorf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	return r.Result.Value, nil
}

// Wait waits until a JavaScript expression is true. During a navigation, the expression may fail.
func (b *Browser) Wait(expression string) {
	b.t.Helper()
	b.wait(expression, func(value any) bool { return value == true })
}

// wait returns the first value of a JavaScript expression that is good enough.
func (b *Browser) wait(expression string, good func(value any) bool) any {
	b.t.Helper()
	value, err := b.await(expression, good)
	check(b.t, err)
	return value
}

// await is wait with an error if there is no such value in time, or the browser has ended.
func (b *Browser) await(expression string, good func(value any) bool) (any, error) {
	poll := time.NewTicker(pollStep)
	defer poll.Stop()
	for end := time.Now().Add(Patience); ; <-poll.C {
		value, err := b.eval(expression)
		switch {
		case err == nil && good(value):
			return value, nil
		case errors.Is(err, errEnded):
			return nil, err
		case time.Now().After(end):
			page, unknown := b.eval("location.href + '\\n' + document.readyState + '\\n' + document.body?.innerText")
			late := fmt.Errorf("not true after %s: %s: value %v\n%v", Patience, expression, value, page)
			return nil, errors.Join(late, err, unknown)
		}
	}
}

// settled is true on a complete page that no navigation is leaving.
const settled = "document.readyState === 'complete' && !window.leaving"

// Open navigates to a URL and waits until its page is complete. A browser that ends before the first page is complete, as sometimes happens
// on a loaded machine, is started again once.
func (b *Browser) Open(target string) {
	b.t.Helper()
	err := b.open(target)
	if errors.Is(err, errEnded) && !b.opened {
		b.t.Log("the browser is started again: ", err)
		check(b.t, b.launch())
		err = b.open(target)
	}
	check(b.t, err)
	b.opened = true
}

func (b *Browser) open(target string) error {
	ctx, cancel := context.WithTimeout(b.t.Context(), callTime)
	defer cancel()
	if _, err := b.eval("window.leaving = true"); err != nil {
		return err
	}
	var started struct{ ErrorText string }
	if err := b.call(ctx, b.session, "Page.navigate", map[string]any{"url": target}, &started); err != nil {
		return err
	}
	if started.ErrorText != "" {
		return fmt.Errorf("%s: %s", target, started.ErrorText)
	}
	_, err := b.await(settled, func(value any) bool { return value == true })
	return err
}

// quoted returns a JavaScript string.
func quoted(text string) string { return strconv.Quote(text) }

// WaitText waits until the page shows a text.
func (b *Browser) WaitText(text string) {
	b.t.Helper()
	b.Wait(settled + " && document.body.innerText.includes(" + quoted(text) + ")")
}

// Click clicks the first element with a selector with the mouse. It waits until there is one.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	b.click("document.querySelector(" + quoted(selector) + ")")
}

// ClickText clicks the first link or button with a text.
func (b *Browser) ClickText(text string) {
	b.t.Helper()
	b.click("[...document.querySelectorAll('main a, main button, header a, header button, dialog[open] button')]" +
		".find(e => e.innerText.trim() === " + quoted(text) + ")")
}

// click clicks the element that an expression returns. The element is found and measured in one step, because a page with live parts may
// replace it at any time, and not on a page that an earlier click is leaving, because that page may have an element of the same name.
func (b *Browser) click(expression string) {
	b.t.Helper()
	at, _ := b.wait(`(() => {
		if (!(`+settled+`)) return null;
		const e = `+expression+`;
		if (!e) return null;
		onbeforeunload = () => { window.leaving = true; };
		e.scrollIntoView({block: 'center'});
		const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, func(value any) bool { return value != nil }).([]any)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Command("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1}, nil)
	}
}

// Type types a text into the focused field.
func (b *Browser) Type(text string) {
	b.t.Helper()
	b.Command("Input.insertText", map[string]any{"text": text}, nil)
}

// Key presses a key: a character, or a name such as Tab or Enter.
func (b *Browser) Key(key string) {
	b.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	switch key {
	case "Enter":
		down["text"], down["windowsVirtualKeyCode"] = "\r", 13
	case "Tab":
		down["windowsVirtualKeyCode"] = 9
	case "Escape":
		down["windowsVirtualKeyCode"] = 27
	default:
		down["text"] = key
	}
	b.Command("Input.dispatchKeyEvent", down, nil)
	up := maps.Clone(down)
	up["type"] = "keyUp"
	delete(up, "text")
	b.Command("Input.dispatchKeyEvent", up, nil)
}

// Size sets the size of the window.
func (b *Browser) Size(width, height int) {
	b.t.Helper()
	b.emulate("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	})
}

// Colors sets the preferred color scheme: light or dark.
func (b *Browser) Colors(scheme string) {
	b.t.Helper()
	b.emulate("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	})
}

// Scripts enables or disables the scripts of pages.
func (b *Browser) Scripts(enabled bool) {
	b.t.Helper()
	b.emulate("Emulation.setScriptExecutionDisabled", map[string]any{"value": !enabled})
}

// Screenshot stores a picture of the visible part of the page down to the end of its content, if a directory for pictures is set.
func (b *Browser) Screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv(screenshotsVariable)
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	size, ok := b.Eval("[innerWidth, Math.ceil(Math.min(innerHeight, document.querySelector('main').getBoundingClientRect().bottom))]").([]any)
	if !ok {
		b.t.Fatal("the page has no size")
	}
	clip := map[string]any{"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
	b.Command("Page.captureScreenshot", map[string]any{"format": "png", "clip": clip}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	check(b.t, err)
	check(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}

// PictureWidth is the usual width of the pictures of the documentation: texts remain readable where a page shows a picture smaller.
const PictureWidth = 1000

// Picture is Screenshot in a window of another width and the present height.
func (b *Browser) Picture(name string, width int) {
	b.t.Helper()
	if os.Getenv(screenshotsVariable) == "" {
		return
	}
	size, ok := b.Eval("[innerWidth, innerHeight]").([]any)
	if !ok {
		b.t.Fatal("the window has no size")
	}
	before, height := int(size[0].(float64)), int(size[1].(float64))
	b.Size(width, height)
	b.Screenshot(name)
	b.Size(before, height)
}

// Foreign returns the URLs of requests to other hosts than that of a base URL.
func (b *Browser) Foreign(base string) (foreign []string) {
	u, err := url.Parse(base)
	check(b.t, err)
	b.heard.Lock()
	defer b.heard.Unlock()
	for _, text := range b.urls {
		if other, err := url.Parse(text); err != nil || other.Host != u.Host && other.Scheme != "data" && other.Scheme != "about" {
			foreign = append(foreign, text)
		}
	}
	return foreign
}

// Faults returns the exceptions of scripts, and the violations of the policies of pages.
func (b *Browser) Faults() []string {
	b.heard.Lock()
	defer b.heard.Unlock()
	return append([]string(nil), b.faults...)
}

// Accessible checks the page in light and dark colors and in three widths: axe-core finds no violation, and the page is not wider than the
// window. It takes a picture of each view. axe-core checks the largest width in light and the smallest in dark colors, or every view.
func (b *Browser) Accessible(name string, everyView bool) {
	b.t.Helper()
	for _, colors := range []string{"light", "dark"} {
		b.Colors(colors)
		for _, width := range []int{1440, 1024, 390} {
			b.Size(width, 1000)
			view := fmt.Sprintf("%s-%s-%d", name, colors, width)
			if b.Eval(`document.documentElement.scrollWidth <= innerWidth`) != true {
				b.t.Errorf("%s: the page is wider than the window", view)
			}
			b.Screenshot(view)
			usual := colors == "light" && width == 1440 || colors == "dark" && width == 390
			if !usual && !everyView {
				continue
			}
			for _, violation := range b.axe() {
				b.t.Errorf("%s: %s", view, violation)
			}
		}
	}
}

// axe returns the violations that axe-core finds on the page; none if axe-core is not available.
func (b *Browser) axe() (violations []string) {
	b.t.Helper()
	file := os.Getenv(axeVariable)
	if file == "" {
		b.withoutAxe.Do(func() { b.t.Logf("axe-core is not available: set %s to its file axe.min.js", axeVariable) })
		return nil
	}
	if b.Eval(`typeof axe`) == "undefined" {
		text, err := os.ReadFile(file)
		check(b.t, err)
		b.Eval(string(text) + "; true") // evaluated by the browser, not by the page, so that its policy does not apply
	}
	found, isList := b.Eval(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => v.id + ": " + v.help + ": " +
		v.nodes.slice(0, 3).map(n => n.target.join(" ")).join(", ")))`).([]any)
	if !isList {
		b.t.Fatal("axe-core returned no list")
	}
	for _, v := range found {
		violations = append(violations, strings.TrimSpace(fmt.Sprint(v)))
	}
	return violations
}
