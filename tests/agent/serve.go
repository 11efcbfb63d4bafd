package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	defaultPort       = "8080"
	readHeaderTimeout = 10 * time.Second
	// shutdownTimeout is well below the contract's grace of 30 seconds.
	shutdownTimeout = 10 * time.Second
)

// serve answers HTTP until it is asked to stop, and then ends with 0 once the
// requests at hand are answered. Told an exit code other than 0, it ends with
// that code after its time to sleep, as a program does that crashes.
func (p process) serve(ctx context.Context, args []string) (int, error) {
	described, asked, err := p.prepare("serve", args)
	if err != nil {
		return 0, err
	}
	listener, err := net.Listen("tcp", ":"+cmp.Or(p.getenv("LOOM_PORT"), defaultPort))
	if err != nil {
		return 0, fmt.Errorf("opening the port: %w", err)
	}
	log := slog.New(slog.NewJSONHandler(p.stderr, nil))
	log.Info("serving", "address", listener.Addr().String())
	alive := ctx
	if asked.ExitCode != 0 {
		var stop context.CancelFunc
		alive, stop = context.WithTimeout(ctx, time.Duration(asked.Sleep))
		defer stop()
	}
	if err := answer(alive, listener, logged(log, routes(described))); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, nil
	}
	return asked.ExitCode, nil
}

// answer serves until ctx ends, and then answers the requests at hand.
func answer(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTimeout}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("waiting for the requests at hand: %w", errors.Join(err, server.Close()))
	}
	return nil
}

func routes(described description) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", ok)
	mux.HandleFunc("GET /readyz", ok)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		body, err := json.Marshal(described)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // the client is gone: nobody is left to tell
	})
	return mux
}

func ok(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n")) // the client is gone: nobody is left to tell
}

// logged writes one line for each request, when it is answered.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(recorder, r)
		log.Info("request", "method", r.Method, "path", r.URL.Path, "status", recorder.status)
	})
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}
