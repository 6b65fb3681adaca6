package sqldbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

const (
	startTimeout = 60 * time.Second
	stopTimeout  = 20 * time.Second
)

// daemon is a server that ends together with this process.
type daemon struct {
	cmd    *exec.Cmd
	log    *os.File
	exited chan struct{} // closed when the server has exited
}

// startDaemon starts a program in a directory, as the given user. Its output goes to the file log of the directory.
func startDaemon(dir, log string, owner *syscall.Credential, program string, args ...string) (*daemon, error) {
	file, err := os.Create(filepath.Join(dir, log))
	if err != nil {
		return nil, err
	}
	d := &daemon{cmd: exec.Command(program, args...), log: file, exited: make(chan struct{})}
	d.cmd.Dir = dir
	d.cmd.Stdout, d.cmd.Stderr = file, file
	// The kernel sends the signal when this process exits for any reason: an immediate shutdown of PostgreSQL and of PgBouncer.
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Pdeathsig: syscall.SIGQUIT}
	started := make(chan error)
	// Pdeathsig is sent when the thread that started the server ends. The goroutine therefore stays locked to its thread until the server has
	// exited.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := d.cmd.Start()
		started <- err
		if err == nil {
			_ = d.cmd.Wait() // ignore the error: the log of the server contains the cause
		}
		close(d.exited)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

// await returns when the server accepts connections.
func (d *daemon) await(databaseURL string) error {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-d.exited:
			return fmt.Errorf("%s exited: %s", filepath.Base(d.cmd.Path), d.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s did not start: %w: %s", filepath.Base(d.cmd.Path), err, d.tail())
		}
	}
}

func (d *daemon) tail() string {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// halt stops the server with a signal.
func (d *daemon) halt(by syscall.Signal) error {
	if d == nil {
		return nil
	}
	var errs []error
	_ = d.cmd.Process.Signal(by) // ignore the error: the server may have exited already
	select {
	case <-d.exited:
	case <-time.After(stopTimeout):
		errs = append(errs, fmt.Errorf("%s did not stop", filepath.Base(d.cmd.Path)), d.cmd.Process.Kill())
		<-d.exited
	}
	return errors.Join(append(errs, d.log.Close())...)
}
