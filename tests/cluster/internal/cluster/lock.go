package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile lies beside the cluster's directory, which comes and goes.
func lockFile(dir string) string {
	return filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".lock")
}

// lock lets one command at a time change a cluster; another waits. The kernel drops the lock of a command that ends.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of clusters: %w", err)
	}
	file, err := os.OpenFile(lockFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of a cluster: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("waiting for another command on the cluster in %s to end: %w", dir, err)
	}
	return func() { file.Close() }, nil
}

// locked says whether a command is changing the cluster now.
func locked(dir string) bool {
	file, err := os.Open(lockFile(dir))
	if err != nil {
		return false // no command ever worked on it, or it was deleted
	}
	defer file.Close()
	return errors.Is(syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
