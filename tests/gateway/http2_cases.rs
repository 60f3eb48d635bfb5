//! Cases of `http2_conformance`: what a client sends on a fresh connection, and what RFC 9113 and RFC 7541 say
//! must follow. The sections are those under which h2spec has them.
//!
//! Long because: it is one table.

use support::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PRIORITY, RST_STREAM,
    SETTINGS, WINDOW_UPDATE, field, frame, head,
};
use support::request::{CHAT, HELLO, MODELS};

pub(super) const PROTOCOL_ERROR: u8 = 1;
pub(super) const FLOW_CONTROL_ERROR: u8 = 3;
pub(super) const STREAM_CLOSED: u8 = 5;
pub(super) const FRAME_SIZE_ERROR: u8 = 6;
pub(super) const REFUSED_STREAM: u8 = 7;
pub(super) const COMPRESSION_ERROR: u8 = 9;
const PUSH_PROMISE: u8 = 5;
const PADDED: u8 = 8;
const WITH_PRIORITY: u8 = 0x20;
const UNKNOWN: u8 = 0x16;
const WHOLE: u8 = END_HEADERS | END_STREAM;

use Expected::{Connection, Ponged, Served, Stream};

/// What must follow; the numbers are codes of errors, of which any will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    /// The connection ends, with or without a GOAWAY, which says why.
    Connection(&'static [u8]),
    /// The stream is reset, or the connection ends.
    Stream(&'static [u8]),
    /// The request is answered.
    Served,
    /// The connection goes on: a ping is answered.
    Ponged,
}

/// Its section and name, what is sent, what must follow.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) expected: Expected,
}

fn case(name: &'static str, parts: &[Vec<u8>], expected: Expected) -> Case {
    Case {
        name,
        bytes: parts.concat(),
        expected,
    }
}

fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, WHOLE, stream, &head("GET", MODELS))
}

/// The head of a call whose body is to come.
fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &head("POST", CHAT))
}

/// A head of which CONTINUATION is to bring the rest.
fn begun(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM, stream, &head("GET", MODELS)[..20])
}

fn rest(stream: u32) -> Vec<u8> {
    frame(
        CONTINUATION,
        END_HEADERS,
        stream,
        &head("GET", MODELS)[20..],
    )
}

/// A whole request with this block.
fn request(block: &[u8]) -> Vec<u8> {
    frame(HEADERS, WHOLE, 1, block)
}

/// A request with these headers in place of the usual ones.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = fields.iter().flat_map(|(n, v)| field(n, v)).collect();
    request(&block)
}

fn with(name: &str, value: &str) -> Vec<u8> {
    request(&[head("GET", MODELS), field(name, value)].concat())
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    let payload = [&name.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &payload)
}

fn window(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &8u32.to_be_bytes())
}

const METHOD: (&str, &str) = (":method", "GET");
const SCHEME: (&str, &str) = (":scheme", "http");
const PATH: (&str, &str) = (":path", MODELS);
const HOST: (&str, &str) = (":authority", "gateway.test");

/// Requests and frames that are in order, however unusual.
pub(super) fn accepted() -> Vec<Case> {
    let key = |block: Vec<u8>| [block, field("x-monitor-api-key", support::KEY)].concat();
    // :method GET, :scheme http, :path /v1/models as indexed and literal fields, :authority without indexing.
    let indexed = [
        &[0x82, 0x86, 0x04, 0x0a][..],
        MODELS.as_bytes(),
        &[0x01, 0x01],
        b"a",
    ]
    .concat();
    // The value of :authority by Huffman: RFC 7541 C.4.1, www.example.com.
    let huffman = [
        &[0x82, 0x86, 0x04, 0x0a][..],
        MODELS.as_bytes(),
        &[
            0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ],
    ]
    .concat();
    let padded = [&[5][..], &head("GET", MODELS), &[0; 5]].concat();
    let depending = [&[0, 0, 0, 0, 200][..], &head("GET", MODELS)].concat();
    vec![
        case("3.4 a preface and a request", &[get(1)], Served),
        case(
            "4.1 a frame of an unknown type is ignored",
            &[frame(UNKNOWN, 0, 0, b"abcdefgh"), get(1)],
            Served,
        ),
        case(
            "4.1 flags that mean nothing are ignored",
            &[frame(PING, 0x16, 0, b"\0\0\0\0\0\0\0\0"), get(1)],
            Served,
        ),
        case(
            "4.1 the reserved bit is ignored",
            &[frame(PING, 0, 1 << 31, b"\0\0\0\0\0\0\0\0"), get(1)],
            Served,
        ),
        case("4.3 a head in two parts", &[begun(1), rest(1)], Served),
        case(
            "5.1.1 streams in ascending order",
            &[get(1), get(5)],
            Served,
        ),
        case(
            "5.3 a priority on a stream that is idle",
            &[frame(PRIORITY, 0, 3, &[0, 0, 0, 0, 1]), get(1)],
            Served,
        ),
        case(
            "6.1 a padded body",
            &[
                open(1),
                frame(
                    DATA,
                    END_STREAM | PADDED,
                    1,
                    &[&[3][..], HELLO.as_bytes(), &[0; 3]].concat(),
                ),
            ],
            Served,
        ),
        case(
            "6.2 a padded head",
            &[frame(HEADERS, WHOLE | PADDED, 1, &padded)],
            Served,
        ),
        case(
            "6.2 a head with a priority",
            &[frame(HEADERS, WHOLE | WITH_PRIORITY, 1, &depending)],
            Served,
        ),
        case(
            "6.5 the same setting twice",
            &[setting(4, 100), setting(4, 65_535), get(1)],
            Served,
        ),
        case(
            "6.5.2 an unknown setting is ignored",
            &[setting(0xff, 1), get(1)],
            Served,
        ),
        case("6.7 a ping is answered", &[], Ponged),
        case(
            "6.7 an answer to no ping is ignored",
            &[frame(PING, ACK, 0, b"unasked!")],
            Ponged,
        ),
        case(
            "6.9 windows grow",
            &[window(0, 10), get(1), window(1, 10)],
            Served,
        ),
        case(
            "6.10 a head in many parts",
            &[begun(1), frame(CONTINUATION, 0, 1, b""), rest(1)],
            Served,
        ),
        case(
            "8.1 trailers",
            &[
                open(1),
                frame(DATA, 0, 1, HELLO.as_bytes()),
                frame(HEADERS, WHOLE, 1, &field("x-a", "b")),
            ],
            Served,
        ),
        case(
            "8.1 a pseudo-header among trailers",
            &[
                open(1),
                frame(DATA, 0, 1, HELLO.as_bytes()),
                frame(HEADERS, WHOLE, 1, &field(":method", "GET")),
            ],
            Served,
        ),
        case("8.2.2 te: trailers", &[with("te", "trailers")], Served),
        case("7541 6.1 indexed fields", &[request(&key(indexed))], Served),
        case(
            "7541 5.2 a value by Huffman",
            &[request(&key(huffman))],
            Served,
        ),
        case(
            "7541 6.3 a smaller table",
            &[request(&[vec![0x20], head("GET", MODELS)].concat())],
            Served,
        ),
    ]
}

/// Frames that end the connection.
pub(super) fn connection_errors() -> Vec<Case> {
    let long = vec![0; 16_385];
    let ping = || frame(PING, 0, 0, b"\0\0\0\0\0\0\0\0");
    let closed = Stream(&[STREAM_CLOSED, PROTOCOL_ERROR]);
    let protocol = Connection(&[PROTOCOL_ERROR]);
    let size = Connection(&[FRAME_SIZE_ERROR]);
    let flow = Connection(&[FLOW_CONTROL_ERROR]);
    vec![
        case(
            "4.2 a head over the largest frame",
            &[frame(HEADERS, WHOLE, 1, &long)],
            size,
        ),
        case(
            "4.2 a body over the largest frame",
            &[open(1), frame(DATA, END_STREAM, 1, &long)],
            Stream(&[FRAME_SIZE_ERROR]),
        ),
        case(
            "4.3 a block that is no HPACK",
            &[request(&[0x40])],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "4.3 a priority within a head",
            &[begun(1), frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])],
            protocol,
        ),
        case(
            "4.3 another head within a head",
            &[begun(1), get(3)],
            protocol,
        ),
        case(
            "5.1 idle: DATA",
            &[frame(DATA, END_STREAM, 1, b"x")],
            protocol,
        ),
        case("5.1 idle: RST_STREAM", &[reset(1)], protocol),
        case("5.1 idle: WINDOW_UPDATE", &[window(1, 10)], protocol),
        case("5.1 idle: CONTINUATION", &[rest(1)], protocol),
        case(
            "5.1 half closed: DATA",
            &[get(1), frame(DATA, END_STREAM, 1, b"x")],
            closed,
        ),
        case("5.1 half closed: HEADERS", &[get(1), get(1)], closed),
        case(
            "5.1 half closed: CONTINUATION",
            &[get(1), rest(1)],
            protocol,
        ),
        case("5.1 closed: HEADERS", &[open(1), reset(1), get(1)], closed),
        case(
            "5.1 closed: CONTINUATION",
            &[open(1), reset(1), rest(1)],
            protocol,
        ),
        case("5.1.1 a stream with an even number", &[get(2)], protocol),
        case(
            "5.1.1 a stream with a smaller number",
            &[get(5), get(3)],
            Connection(&[PROTOCOL_ERROR, STREAM_CLOSED]),
        ),
        case(
            "5.5 an unknown frame within a head",
            &[begun(1), frame(UNKNOWN, 0, 1, b"x")],
            protocol,
        ),
        case(
            "6.1 DATA on the connection",
            &[frame(DATA, END_STREAM, 0, b"x")],
            protocol,
        ),
        case(
            "6.1 more padding than DATA",
            &[open(1), frame(DATA, END_STREAM | PADDED, 1, b"\x06Test")],
            protocol,
        ),
        case("6.2 HEADERS on the connection", &[get(0)], protocol),
        case(
            "6.2 more padding than HEADERS",
            &[frame(HEADERS, WHOLE | PADDED, 1, b"\xffxx")],
            protocol,
        ),
        case(
            "6.3 PRIORITY on the connection",
            &[frame(PRIORITY, 0, 0, &[0, 0, 0, 0, 1])],
            protocol,
        ),
        case(
            "6.3 PRIORITY of four bytes",
            &[open(1), frame(PRIORITY, 0, 1, &[0; 4])],
            Stream(&[FRAME_SIZE_ERROR]),
        ),
        case("6.4 RST_STREAM on the connection", &[reset(0)], protocol),
        case(
            "6.4 RST_STREAM of three bytes",
            &[open(1), frame(RST_STREAM, 0, 1, &[0; 3])],
            size,
        ),
        case(
            "6.5 an acknowledgement with settings",
            &[frame(SETTINGS, ACK, 0, &[0; 6])],
            size,
        ),
        case(
            "6.5 SETTINGS on a stream",
            &[frame(SETTINGS, 0, 1, &[0, 3, 0, 0, 0, 100])],
            protocol,
        ),
        case(
            "6.5 SETTINGS of three bytes",
            &[frame(SETTINGS, 0, 0, &[0; 3])],
            size,
        ),
        case("6.5.2 ENABLE_PUSH of 2", &[setting(2, 2)], protocol),
        case(
            "6.5.2 INITIAL_WINDOW_SIZE of 2^31",
            &[setting(4, 1 << 31)],
            flow,
        ),
        case(
            "6.5.2 MAX_FRAME_SIZE under 2^14",
            &[setting(5, 16_383)],
            protocol,
        ),
        case(
            "6.5.2 MAX_FRAME_SIZE of 2^24",
            &[setting(5, 1 << 24)],
            protocol,
        ),
        case(
            "6.7 PING on a stream",
            &[frame(PING, 0, 1, &[0; 8])],
            protocol,
        ),
        case("6.7 PING of six bytes", &[frame(PING, 0, 0, &[0; 6])], size),
        case(
            "6.8 GOAWAY on a stream",
            &[frame(GOAWAY, 0, 1, &[0; 8])],
            protocol,
        ),
        case(
            "6.9 a window of the connection grows by 0",
            &[window(0, 0)],
            protocol,
        ),
        case(
            "6.9 a window of a stream grows by 0",
            &[open(1), window(1, 0)],
            Stream(&[PROTOCOL_ERROR]),
        ),
        case(
            "6.9 WINDOW_UPDATE of three bytes",
            &[frame(WINDOW_UPDATE, 0, 0, &[0; 3])],
            size,
        ),
        case(
            "6.9.1 a window of the connection over 2^31-1",
            &[window(0, i32::MAX as u32), window(0, i32::MAX as u32)],
            flow,
        ),
        case(
            "6.9.1 a window of a stream over 2^31-1",
            &[
                open(1),
                window(1, i32::MAX as u32),
                window(1, i32::MAX as u32),
            ],
            Stream(&[FLOW_CONTROL_ERROR]),
        ),
        case(
            "6.9.2 a new initial window makes one over 2^31-1",
            &[
                setting(4, 100),
                open(1),
                window(1, i32::MAX as u32),
                setting(4, i32::MAX as u32),
            ],
            Stream(&[FLOW_CONTROL_ERROR]),
        ),
        case(
            "6.10 CONTINUATION on the connection",
            &[begun(1), rest(0)],
            protocol,
        ),
        case(
            "6.10 CONTINUATION of another stream",
            &[begun(1), rest(3)],
            protocol,
        ),
        case(
            "6.10 CONTINUATION behind a whole head",
            &[open(1), rest(1)],
            protocol,
        ),
        case(
            "6.10 DATA within a head",
            &[begun(1), frame(DATA, END_STREAM, 1, b"x")],
            protocol,
        ),
        case("6.10 a ping within a head", &[begun(1), ping()], protocol),
        case(
            "8.4 PUSH_PROMISE of a client",
            &[frame(
                PUSH_PROMISE,
                END_HEADERS,
                1,
                &[&[0, 0, 0, 2][..], &head("GET", MODELS)].concat(),
            )],
            protocol,
        ),
        case(
            "7541 2.3.3 an index of 0",
            &[request(&[0x80])],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 2.3.3 an index behind the table",
            &[request(&[0xff, 0x80, 0x01])],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 4.2 a table over its limit",
            &[request(
                &[&[0x3f, 0xe1, 0xff, 0x03][..], &head("GET", MODELS)].concat(),
            )],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 4.2 a table changed behind a field",
            &[request(&[head("GET", MODELS), vec![0x20]].concat())],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 5.2 Huffman padded by a byte",
            &[request(
                &[
                    head("GET", MODELS),
                    vec![0x00, 0x01, b'x', 0x82, 0x1f, 0xff],
                ]
                .concat(),
            )],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 5.2 Huffman padded by zeros",
            &[request(
                &[head("GET", MODELS), vec![0x00, 0x01, b'x', 0x81, 0x18]].concat(),
            )],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 5.2 Huffman with the end mark",
            &[request(
                &[
                    head("GET", MODELS),
                    vec![0x00, 0x01, b'x', 0x84, 0xff, 0xff, 0xff, 0xff],
                ]
                .concat(),
            )],
            Connection(&[COMPRESSION_ERROR]),
        ),
        case(
            "7541 5.1 a number without an end",
            &[request(&[
                0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            ])],
            Connection(&[COMPRESSION_ERROR]),
        ),
    ]
}

/// Requests that are malformed: their stream ends, nothing of them is served.
pub(super) fn malformed() -> Vec<Case> {
    let usual = [METHOD, SCHEME, PATH, HOST];
    let and = |more: (&'static str, &'static str)| fields(&[&usual[..], &[more]].concat());
    let body = |length: &str, parts: &[Vec<u8>]| {
        let block = [head("POST", CHAT), field("content-length", length)].concat();
        [vec![frame(HEADERS, END_HEADERS, 1, &block)], parts.to_vec()].concat()
    };
    let protocol = Stream(&[PROTOCOL_ERROR]);
    let half = || frame(DATA, 0, 1, b"{}");
    vec![
        case(
            "8.1 a second head that is no trailer",
            &[open(1), frame(HEADERS, END_HEADERS, 1, &field("x-a", "b"))],
            protocol,
        ),
        case("8.2 an upper-case name", &[and(("X-Upper", "a"))], protocol),
        case(
            "8.2.2 connection",
            &[and(("connection", "keep-alive"))],
            protocol,
        ),
        case(
            "8.2.2 keep-alive",
            &[and(("keep-alive", "timeout=1"))],
            protocol,
        ),
        case(
            "8.2.2 proxy-connection",
            &[and(("proxy-connection", "keep-alive"))],
            protocol,
        ),
        case(
            "8.2.2 transfer-encoding",
            &[and(("transfer-encoding", "chunked"))],
            protocol,
        ),
        case("8.2.2 upgrade", &[and(("upgrade", "h2c"))], protocol),
        case("8.2.2 te: gzip", &[and(("te", "gzip"))], protocol),
        case(
            "8.3 an unknown pseudo-header",
            &[and((":unknown", "a"))],
            protocol,
        ),
        case(
            "8.3 a pseudo-header of answers",
            &[and((":status", "200"))],
            protocol,
        ),
        case(
            "8.3 a pseudo-header behind a field",
            &[fields(&[METHOD, SCHEME, HOST, ("x-a", "b"), PATH])],
            protocol,
        ),
        case(
            "8.3.1 an empty :path",
            &[fields(&[METHOD, SCHEME, HOST, (":path", "")])],
            protocol,
        ),
        case(
            "8.3.1 no :method",
            &[fields(&[SCHEME, PATH, HOST])],
            protocol,
        ),
        case(
            "8.3.1 no :scheme",
            &[fields(&[METHOD, PATH, HOST])],
            protocol,
        ),
        case(
            "8.3.1 no :path",
            &[fields(&[METHOD, SCHEME, HOST])],
            protocol,
        ),
        case("8.3.1 :method twice", &[and(METHOD)], protocol),
        case("8.3.1 :scheme twice", &[and(SCHEME)], protocol),
        case("8.3.1 :path twice", &[and(PATH)], protocol),
        case(
            "8.1.1 a shorter body than its length",
            &body("9", &[half(), frame(DATA, END_STREAM, 1, b"")]),
            protocol,
        ),
        case(
            "8.1.1 a longer body than its length",
            &body("1", &[frame(DATA, END_STREAM, 1, b"{}")]),
            protocol,
        ),
        case(
            "8.1.1 a body of two parts that are too long",
            &body("3", &[half(), frame(DATA, END_STREAM, 1, b"{}")]),
            protocol,
        ),
        case(
            "8.2.1 a line feed in a value",
            &[and(("x-a", "b\nc"))],
            protocol,
        ),
        case("8.2.1 a NUL in a value", &[and(("x-a", "b\0c"))], protocol),
        case("8.2.1 a space in a name", &[and(("x a", "b"))], protocol),
    ]
}

/// More streams at once than the settings allow.
pub(super) fn too_many(at_once: u32) -> Case {
    let streams: Vec<Vec<u8>> = (0..=at_once).map(|n| open(2 * n + 1)).collect();
    case(
        "5.1.2 more streams than are allowed",
        &streams,
        Stream(&[REFUSED_STREAM, PROTOCOL_ERROR]),
    )
}
