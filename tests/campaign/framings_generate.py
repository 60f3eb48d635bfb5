"""Framings of HTTP/1 requests that two servers might read differently, from a seed.

A case is what a client writes on one connection: a first request whose framing is odd in one to three ways,
often with a request hidden in its body, and two plain requests behind it, the last of which asks for the end
of the connection. Every request names its case, so that a request out of place is told from the right one. What
is asked for depends on the port: calls of models of the gateway, or what the analysis API answers."""

import collections
import random

KEY = "key-of-the-campaign"
LENGTH, CODING = b"Content-Length", b"Transfer-Encoding"

# The path of each request of a case, and the header lines that have a server read the body of the first.
Port = collections.namedtuple("Port", ["first", "hidden", "second", "third", "lines"])
GATEWAY = Port("/v1/embeddings", *["/v1/models"] * 3, [f"X-Monitor-Api-Key: {KEY}"])
# Paths that are wrong by a letter: the answer names the path that is meant, so each has an answer of its own.
ANALYSIS = Port(
    "/process_request", "/session", "/statistic", "/application",
    [f"Authorization: Bearer {KEY}", "Content-Type: application/json"],
)


def plain(port, case, name, last=False):
    """A request that no server can misread."""
    lines = [f"GET {getattr(port, name)}?c={case}-{name} HTTP/1.1", "Host: a.test", port.lines[0]]
    lines += ["Connection: close"] if last else []
    return "\r\n".join([*lines, "", ""]).encode()


def lengths(n):
    """Values of Content-Length for a body of n bytes."""
    d = str(n).encode()
    other = str(n + 3).encode()
    return [
        d, other, b"0", b"0" + d, b"000" + d, b"+" + d, b"-" + d, b"-0", d + b", " + d, d + b"," + other,
        other + b"," + d, d + b",", b"," + d, b" " + d, d + b" ", b"\t" + d, d + b"\t", b"\x0b" + d, d + b"\x0b",
        b"\x0c" + d, d + b"\x0c", d + b"\x00", b"\x00" + d, b"0x" + b"%x" % n, b"%x" % (n + 10), d + b".0",
        d + b"e0", d + b" " + d, d + b";", d + b";a", b'"' + d + b'"', b"'" + d + b"'", b"", b" ", d + b"_",
        b"1_0", d + b"L", str(n + 2**64).encode(), str(n + 2**32).encode(), str(2**63 + n).encode(), b"9" * 30,
        d + b"\xa0", b"\xa0" + d, d + b"\x85", "\uff11".encode(), b"\xb2", d + b"\r" + other, d + b"\n" + other,
        d + b"\r\n " + other, b"\r\n " + d, b"\r\n\t" + d, d + b"\r\n ", b"(" + d + b")", d + b" (a)", b"NaN",
    ]


CODINGS = [
    b"chunked", b"Chunked", b"CHUNKED", b" chunked", b"chunked ", b"\tchunked",
    b"chunked\t", b"\x0bchunked", b"chunked\x0b", b"\x0cchunked", b"chunked\x00", b"\x00chunked", b"xchunked",
    b"chunkedx", b"chunked, chunked", b"chunked,chunked", b"identity", b"identity, chunked", b"chunked, identity",
    b"gzip", b"gzip, chunked", b"chunked, gzip", b"deflate, chunked", b"chunked;q=1", b"chunked; a=b",
    b'"chunked"', b"'chunked'", b"chun ked", b"chunked,", b",chunked", b", chunked", b"chunked, ", b"", b" ",
    b"x", b"cow", b"cow, chunked", b"chunked, cow", b"\r\n chunked", b"\r\n\tchunked", b"chunked\r\n ",
    b"chunked\r\n , identity", b"x\r\n chunked", b"chunked\xa0", b"\xa0chunked", b"chunked\x85",
    "\u212ahunked".encode(), "chun\u212aed".encode(), b"chunked\r", b"\rchunked", b"chunked\n", b"trailers, chunked",
    b"compress, chunked", b"x-gzip, chunked", b"chunked\\", b"(a) chunked", b"[chunked]", b"chunked:", b"null",
]

NAMES = [
    lambda n: n, lambda n: n.lower(), lambda n: n.upper(),
    lambda n: n + b" ", lambda n: n + b"\t", lambda n: b" " + n, lambda n: b"\t" + n, lambda n: n + b"\x0b",
    lambda n: b"\x0b" + n, lambda n: n + b"\x00", lambda n: b"\x00" + n, lambda n: n.replace(b"-", b"_"),
    lambda n: n.replace(b"-", b""), lambda n: n.replace(b"-", b" "), lambda n: n.replace(b"-", b"--"),
    lambda n: n.replace(b"-", b"\x00-"), lambda n: b"X-A: b\n" + n, lambda n: b"X-A: b\r" + n,
    lambda n: b"X-A: b\r\r\n" + n, lambda n: b"X-A: b\r\n " + n, lambda n: b"X-A: b\x00\r\n" + n,
    lambda n: b"X-A\r\n" + n, lambda n: b"X-A:\r\n" + n, lambda n: b"X-A: \"\r\n" + n, lambda n: b"X-" + n,
    lambda n: n + b":", lambda n: b":" + n, lambda n: n + b"\r", lambda n: n + b"\r\n", lambda n: n + b"\n",
    lambda n: b"\r\n" + n, lambda n: b"\n" + n, lambda n: b"\r" + n, lambda n: b"\xc2\xa0" + n,
    lambda n: n + b"\xa0", lambda n: n[:4] + b"\xad" + n[4:], lambda n: b"X-Mark: 1\x0b" + n, lambda n: b"(a)" + n,
]

COLONS = [b": ", b":", b":  ", b" : ", b":\t", b"\t: ", b"=", b" ", b":\x0b", b":\x00", b"::"]
ENDS = [b"\r\n", b"\n", b"\r", b"\r\r\n", b"\n\r", b"\x00\r\n", b" \r\n", b"\t\r\n", b"\x0b\r\n", b"\r\n\x00"]
LAST = [b"\r\n", b"\n", b"\r", b"\n\n", b"\r\r\n", b" \r\n", b"\t\r\n\r\n", b"\r\n\r\n", b"\x00\r\n"]
STARTS = [b"", b"\r\n", b"\n", b"\r\n\r\n", b"\r", b" ", b"\x00", b"\t"]
SPACES = [b" ", b"  ", b"\t", b" \t", b"\x0b", b"\xa0", b"\r", b"\x0c"]
VERSIONS = [
    b"HTTP/1.1", b"HTTP/1.0", b"HTTP/1.2", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.1 ", b"HTTP/01.1",
    b"HTTP/1.01", b"HTTP/11", b"HTTP/1,1", b"HTTP/1.", b"HTTP/1", b"HTTPS/1.1", b"HTTP /1.1", b"", b"HTTP/1.1\x00",
]
METHODS = [b"POST", b"GET", b"post", b"PUT", b"PATCH", b"OPTIONS", b"DELETE", b"POS\tT", b"P\x00ST"]
ASIDE = [
    b"Connection: close", b"Connection: keep-alive", b"Connection: Content-Length", b"Connection: Transfer-Encoding",
    b"Connection: Upgrade\r\nUpgrade: websocket", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk",
    b"Expect: 100-continue", b"Expect: x", b"TE: trailers", b"Trailer: Content-Length", b"Trailer: X-Mark",
    b"X-Mark: a", b"X-Mark: a\r\n b", b"X-Mark: a\nX-Mark: b", b"X-Mark: a\rX-Mark: b", b"X-Mark: a\x00b",
    b"Content-Encoding: gzip", b"Proxy-Connection: keep-alive", b"Keep-Alive: timeout=1", b"Host: b.test",
    b"Content-Length : 3", b"Transfer-Encoding : chunked", b"X-A: b\r\n\tc", b": b", b"no colon", b"X A: b",
    b"Content-Type: application/json", b"X-\xe4: b", b"X-A: \xff\xfe", b"X-" + b"a" * 300 + b": b",
]


def sizes(n):
    """Spellings of the size of a chunk of n bytes."""
    h = b"%x" % n
    return [
        h, h.upper(), b"0" + h, b"0" * 20 + h, b"+" + h, b"-" + h, b"0x" + h, b" " + h, h + b" ", h + b"\t", b"\t" + h,
        h + b";a", h + b";a=b", h + b' ;a="b"', h + b";a=\"\r\n\"", h + b";a\nb", h + b";a\rb", h + b";\x00",
        h + b" x", h + b",", h + b"\x0b", h + b"h", h + b".0", b"%x" % (n + 2), b"%x" % max(n - 1, 0), b"", b"zz",
        b"1" + b"0" * 16 + h, b"f" * 16, b"f" * 15 + h, b"8" + b"0" * 15, h + b";" + b"a" * 200, b"\xb9", h + b"_0",
    ]


BREAKS = [b"\r\n", b"\n", b"\r", b"\n\r", b"\r\r\n", b"", b" \r\n", b"\r\n\r\n", b"\x00\r\n"]
TRAILERS = [
    b"", b"X-Mark: t\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"X-A: b\n", b"X-A: b\r", b"no colon\r\n",
    b" X-A: b\r\n", b"X-A: b\x00\r\n", b"X-A: b\r\n c\r\n", b"GET /v1/models HTTP/1.1\r\n", b": b\r\n", b"X-Monitor-Api-Key: other\r\n",
]


class Chooser:
    """Chooses from a seed. What a list has first is what is usual; how often something odd is taken differs
    from case to case, so that most cases are odd in one place and some in many."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rate = self.random.choice([0.05, 0.1, 0.1, 0.15, 0.3])

    def any(self, options):
        return self.random.choice(options)

    def pick(self, options):
        return self.any(options) if self.is_odd() else options[0]

    def is_odd(self):
        return self.random.random() < self.rate


def chunked(chooser, body):
    """A body in chunks, each line of which may be odd."""
    pick = chooser.pick
    cut = chooser.any([len(body), len(body), len(body) // 2])
    pieces = [piece for piece in (body[:cut], body[cut:]) if piece]
    out = b"".join(pick(sizes(len(piece))) + pick(BREAKS) + piece + pick(BREAKS) for piece in pieces)
    zero = pick([b"0", b"00", b"0" * 20, b"0;a", b"-0", b"0x0", b" 0", b"0 ", b"0;a\nb", b"", b"+0", b"0_"])
    return out + zero + pick(BREAKS) + pick(TRAILERS) + pick(BREAKS)


def mutated(chooser, first):
    """One byte more, less or other."""
    at = chooser.random.randrange(len(first))
    odd = chooser.any([b"\r", b"\n", b"\r\n", b"\x00", b" ", b"\t", b":", b",", b";", b"\x0b", b"\x7f", b"\x80", b"0", b"1", b""])
    return first[:at] + odd + first[at + chooser.any([0, 1, 1, 2]) :]


def framing(chooser, body):
    """Header lines that say how long the body is, and the body as it is written."""
    shape = chooser.any(["length"] * 4 + ["coding"] * 6 + ["both", "both", "lengths", "codings", "none"])
    in_chunks = "coding" in shape or (shape == "both" and chooser.any([True, False]))
    wire = chunked(chooser, body) if in_chunks else body
    length = lambda: chooser.pick(NAMES)(LENGTH) + chooser.pick(COLONS) + chooser.pick(lengths(len(wire)))
    coding = lambda: chooser.pick(NAMES)(CODING) + chooser.pick(COLONS) + chooser.pick(CODINGS)
    lines = {
        "length": [length], "coding": [coding], "both": [length, coding], "lengths": [length, length],
        "codings": [coding, coding], "none": [],
    }
    return [line() for line in lines[shape]], wire


def case(seed, number, port):
    """The bytes of one case."""
    chooser = Chooser(f"{seed}/{number}")
    pick, hidden = chooser.pick, plain(port, number, "hidden")
    bodies = [hidden, hidden, b'{"a":1}', b"x" * 9 + b"\r\n" + hidden, b"0\r\n\r\n" + hidden, b"5\r\nhello\r\n0\r\n\r\n", b""]
    lines, wire = framing(chooser, chooser.any(bodies))
    lines += [chooser.any(ASIDE) for _ in range(2) if chooser.is_odd()]
    chooser.random.shuffle(lines)
    target = f"{port.first}?c={number}-first".encode()
    target = pick([target, b"http://a.test" + target, target + b"#a", target + b" x", b"*", b"/" + target])
    head = [pick(METHODS) + pick(SPACES) + target + pick(SPACES) + pick(VERSIONS)]
    head += [b"Host: a.test"] + [line.encode() for line in port.lines] + lines
    first = pick(STARTS) + b"".join(line + pick(ENDS) for line in head) + pick(LAST) + wire
    while chooser.is_odd():
        first = mutated(chooser, first)
    return first + plain(port, number, "second") + plain(port, number, "third", last=True)


def cases(seed, count, port):
    """Cases of which no two are alike, by number."""
    found, seen, number = {}, set(), 0
    while len(found) < count:
        bytes_ = case(seed, number, port)
        shape = bytes_.replace(b"c=%d-" % number, b"c=-")
        if shape not in seen:
            seen.add(shape)
            found[number] = bytes_
        number += 1
    return found
