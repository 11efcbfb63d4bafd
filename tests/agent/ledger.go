package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

const ledgerTimeout = 10 * time.Second

// ledgerEntry is one line of the ledger.
type ledgerEntry struct {
	Agent     string    `json:"agent"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"` // the host name, which is the pod's name
	Time      time.Time `json:"time"`
}

// recordStart tells the ledgers that the environment names of this start:
// LEDGER_URL gets a POST and LEDGER_FILE a line. The agent must not start when
// one of them cannot be told, or a count of starts would be worth nothing.
func (p process) recordStart(ctx context.Context) error {
	url, file := p.getenv("LEDGER_URL"), p.getenv("LEDGER_FILE")
	if url == "" && file == "" {
		return nil
	}
	line, err := p.ledgerLine()
	if err != nil {
		return err
	}
	if url != "" {
		if err := postLine(ctx, url, line); err != nil {
			return fmt.Errorf("recording the start at LEDGER_URL: %w", err)
		}
	}
	if file != "" {
		if err := appendLine(file, line); err != nil {
			return fmt.Errorf("recording the start in LEDGER_FILE: %w", err)
		}
	}
	return nil
}

func (p process) ledgerLine() ([]byte, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("finding the host name for the ledger: %w", err)
	}
	line, err := json.Marshal(ledgerEntry{
		Agent:     p.getenv("LOOM_AGENT_NAME"),
		Namespace: p.getenv("LOOM_AGENT_NAMESPACE"),
		Pod:       host,
		Time:      time.Now().UTC(),
	})
	if err != nil {
		return nil, fmt.Errorf("writing the line of the ledger: %w", err)
	}
	return append(line, '\n'), nil
}

// postLine goes straight to the ledger, past any proxy that the agent's own
// environment names. It asks once: a second request could count a start twice.
func postLine(ctx context.Context, url string, line []byte) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(line))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the ledger answered %s", response.Status)
	}
	return nil
}

// appendLine writes the line at once, so that the lines of several pods in one
// file never mix.
func appendLine(file string, line []byte) error {
	ledger, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = ledger.Write(line)
	return errors.Join(err, ledger.Close())
}
