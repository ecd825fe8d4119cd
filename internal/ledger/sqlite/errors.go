package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/psyb0t/aicodebox/internal/ledger"
)

// code returns SQLite's extended result code, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool { return primary(err) == codes.SQLITE_BUSY }

// primary is the result code without its details.
func primary(err error) int { return code(err) & 0xff }

// classify marks an error with the ledger's word for it.
func classify(err error) error {
	if known := word(err); known != nil && !errors.Is(err, known) {
		return fmt.Errorf("%w: %w", known, err)
	}
	return err
}

// word is the ledger's sentinel for an error, or nil.
func word(err error) error {
	switch primary(err) {
	case codes.SQLITE_FULL:
		return ledger.ErrFull
	case codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_PERM:
		return ledger.ErrReadOnly
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return ledger.ErrCorrupt
	case codes.SQLITE_IOERR:
		if code(err) == codes.SQLITE_IOERR_SHMSIZE { // the index beside the log could not grow
			return ledger.ErrFull
		}
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ledger.ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return ledger.ErrReadOnly
	}
	return nil
}
