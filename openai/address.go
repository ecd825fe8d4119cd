package openai

import (
	"net/netip"
	"slices"
	"strings"
)

// public tells whether an address is one of the open internet. What is not:
// this machine, networks behind the box, link-local addresses and with them
// the metadata services of clouds, and all that the registries of
// special-purpose addresses (RFC 6890) keep from being reached globally.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// reserved are the networks that netip does not know to be special. Those that
// carry an IPv4 address inside are refused as a whole: what they lead to
// cannot be seen from here.
var reserved = prefixes(`
	0.0.0.0/8          this network
	100.64.0.0/10      shared by carriers; the metadata service of one cloud
	168.63.129.16/32   the wire server of another
	192.0.0.0/24       protocol assignments
	192.0.2.0/24       documentation
	192.88.99.0/24     relays of 6to4
	198.18.0.0/15      benchmarks
	198.51.100.0/24    documentation
	203.0.113.0/24     documentation
	240.0.0.0/4        reserved, and the broadcast address
	::/96              the old form of IPv4 inside IPv6
	64:ff9b::/96       translation to IPv4
	64:ff9b:1::/48     the same, local
	100::/64           discard
	2001::/23          protocol assignments, Teredo
	2001:db8::/32      documentation
	2002::/16          6to4
	3fff::/20          documentation
	5f00::/16          segment routing
	fec0::/10          site-local
`)

// prefixes reads a list of networks, each followed by what it is.
func prefixes(text string) []netip.Prefix {
	var out []netip.Prefix
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			out = append(out, netip.MustParsePrefix(fields[0]))
		}
	}
	return out
}

// numeric tells whether a host is a number that some resolvers take for an
// address although it is not written like one: 2130706433, 0x7f.1, 0177.0.0.1.
func numeric(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(labels[len(labels)-1])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}
