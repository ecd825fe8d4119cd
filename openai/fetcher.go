package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// fetcher gets images from the open internet for callers who name their URLs.
// It connects to no other address: every address is checked when it is
// connected to, whatever a name resolved to before, and so is that of every
// redirect. It uses no proxy, which would connect in its place.
type fetcher struct {
	client *http.Client
}

// The bounds of one fetch.
const (
	maxImage     = 20 << 20
	maxRedirects = 5
	fetchTime    = 20 * time.Second
)

// errAddress is the error of an address that is not public.
var errAddress = errors.New("the address is not on the public internet, and this box fetches nothing else")

func newFetcher() fetcher {
	return fetcherFor(func(a netip.AddrPort) bool { return public(a.Addr()) })
}

// fetcherFor returns a fetcher that connects only where allowed says so.
func fetcherFor(allowed func(netip.AddrPort) bool) fetcher {
	dialer := &net.Dialer{
		Timeout: fetchTime / 2,
		Control: func(_, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil || !allowed(a) {
				return errAddress
			}
			return nil
		},
	}
	return fetcher{&http.Client{
		Timeout: fetchTime,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			TLSHandshakeTimeout: fetchTime / 2, ResponseHeaderTimeout: fetchTime,
			MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("there are more than %d redirects", maxRedirects)
			}
			return checkURL(r.URL)
		},
	}}
}

// checkURL refuses what needs no connection to be refused.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("only data, http and https URLs are fetched")
	case u.User != nil:
		return errors.New("a URL with a user name is not fetched")
	case u.Hostname() == "":
		return errors.New("the URL names no host")
	case numeric(u.Hostname()), strings.Contains(u.Hostname(), "%"):
		return errAddress
	}
	return nil
}

// fetch gets the image at address. Its errors are sentences for the caller, and
// tell nothing of the network behind the box.
func (f fetcher) fetch(ctx context.Context, address string) (data []byte, mediaType string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", errors.New("it is not a URL")
	}
	if err := checkURL(u); err != nil {
		return nil, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", errors.New("it is not a URL")
	}
	req.Header.Set("Accept", "image/*")
	req.Header.Set("User-Agent", "aicodebox")
	res, err := f.client.Do(req)
	if err != nil {
		return nil, "", fetchReason(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("its server answered with status %d", res.StatusCode)
	}
	if res.ContentLength > maxImage {
		return nil, "", errTooBig
	}
	data, err = io.ReadAll(io.LimitReader(res.Body, maxImage+1))
	return checkImage(data, res.Header.Get("Content-Type"), err)
}

var errTooBig = fmt.Errorf("it is larger than %d bytes", maxImage)

// checkImage refuses what came over the network and is no image.
func checkImage(data []byte, mediaType string, err error) ([]byte, string, error) {
	switch {
	case err != nil:
		return nil, "", fetchReason(err)
	case len(data) > maxImage:
		return nil, "", errTooBig
	case !strings.HasPrefix(mediaType, "image/") && !strings.HasPrefix(http.DetectContentType(data), "image/"):
		return nil, "", errors.New("what its server sent is not an image")
	}
	return data, mediaType, nil
}

// fetchReason puts a network error into words without addresses or names.
func fetchReason(err error) error {
	var (
		timeout interface{ Timeout() bool }
		name    *net.DNSError
		refused *url.Error
	)
	switch {
	case errors.Is(err, errAddress):
		return errAddress
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("its server did not answer in time")
	case errors.As(err, &name):
		return errors.New("its host was not found")
	case errors.As(err, &refused) && isPlain(refused.Err):
		return refused.Err
	}
	return errors.New("its server could not be reached")
}

// isPlain tells of an error of our own making: one of a redirect.
func isPlain(err error) bool {
	var network net.Error
	return errors.Unwrap(err) == nil && !errors.As(err, &network) && !errors.Is(err, io.EOF)
}
