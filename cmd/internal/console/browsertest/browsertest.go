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
	t       testing.TB
	cmd     *exec.Cmd
	in      *os.File // commands
	session string

	withoutAxe sync.Once // a message

	mu      sync.Mutex
	next    int
	waiting map[int]chan answer
	urls    []string // of all requests
	faults  []string // exceptions, and violations of the policy of a page
	ended   chan struct{}
}

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
	toBrowser, in, err := os.Pipe()
	check(t, err)
	out, fromBrowser, err := os.Pipe()
	check(t, err)
	b := &Browser{t: t, in: in, waiting: map[int]chan answer{}, ended: make(chan struct{})}
	b.cmd = exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	b.cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // file descriptors 3 and 4
	check(t, b.cmd.Start())
	_, _ = toBrowser.Close(), fromBrowser.Close()
	go b.read(out)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		_, _ = b.call(ctx, "", "Browser.close", nil)
		_ = b.in.Close()
		killing := time.AfterFunc(callTime, func() { _ = b.cmd.Process.Kill() })
		_ = b.cmd.Wait()
		killing.Stop()
		<-b.ended
	})
	var target struct{ TargetID string }
	b.must("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.must("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.Command(domain+".enable", nil, nil)
	}
	b.Size(1440, 1000)
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read receives the messages of the browser, each ended by a zero byte.
func (b *Browser) read(out *os.File) {
	defer close(b.ended)
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
		b.mu.Lock()
		switch p := m.Params; m.Method {
		case "":
			if c := b.waiting[m.ID]; c != nil {
				delete(b.waiting, m.ID)
				c <- m.answer
			}
		case "Network.requestWillBeSent":
			b.urls = append(b.urls, p.Request.URL)
		case "Runtime.exceptionThrown":
			b.faults = append(b.faults, p.ExceptionDetails.Text+" "+p.ExceptionDetails.Exception.Description)
		case "Log.entryAdded":
			if p.Entry.Source == "security" || p.Entry.Source == "javascript" {
				b.faults = append(b.faults, p.Entry.Text+" "+p.Entry.URL)
			}
		}
		b.mu.Unlock()
	}
}

func (b *Browser) call(ctx context.Context, session, method string, params any) (json.RawMessage, error) {
	c := make(chan answer, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.waiting[id] = c
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = b.in.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-c:
		if a.Error != nil {
			return nil, errors.New(a.Error.Message)
		}
		return a.Result, nil
	case <-b.ended:
		return nil, errors.New("the browser has ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *Browser) must(session, method string, params, into any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), callTime)
	defer cancel()
	result, err := b.call(ctx, session, method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	if into != nil {
		check(b.t, json.Unmarshal(result, into))
	}
}

// Command sends a command of the protocol to the page, and decodes the result unless into is nil.
func (b *Browser) Command(method string, params, into any) {
	b.t.Helper()
	b.must(b.session, method, params, into)
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
	result, err := b.call(ctx, b.session, "Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	})
	if err != nil {
		return nil, err
	}
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	if err := json.Unmarshal(result, &r); err != nil {
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
	poll := time.NewTicker(pollStep)
	defer poll.Stop()
	for end := time.Now().Add(Patience); ; <-poll.C {
		value, err := b.eval(expression)
		if err == nil && good(value) {
			return value
		}
		if time.Now().After(end) {
			text, _ := b.eval("location.href + '\\n' + document.body.innerText")
			b.t.Fatalf("not true after %s: %s\n%v", Patience, expression, text)
		}
	}
}

// settled is true on a complete page that no navigation is leaving.
const settled = "document.readyState === 'complete' && !window.leaving"

// Open navigates to a URL and waits until its page is complete.
func (b *Browser) Open(target string) {
	b.t.Helper()
	b.Eval("window.leaving = true")
	b.Command("Page.navigate", map[string]any{"url": target}, nil)
	b.Wait(settled)
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
	b.Command("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
}

// Colors sets the preferred color scheme: light or dark.
func (b *Browser) Colors(scheme string) {
	b.t.Helper()
	b.Command("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Scripts enables or disables the scripts of pages.
func (b *Browser) Scripts(enabled bool) {
	b.t.Helper()
	b.Command("Emulation.setScriptExecutionDisabled", map[string]any{"value": !enabled}, nil)
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
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.urls {
		if other, err := url.Parse(text); err != nil || other.Host != u.Host && other.Scheme != "data" && other.Scheme != "about" {
			foreign = append(foreign, text)
		}
	}
	return foreign
}

// Faults returns the exceptions of scripts, and the violations of the policies of pages.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
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
