//! The names of `libz-ng-sys`, served by stock zlib.
//!
//! pingora-core asks `flate2` for zlib-ng, and zlib-ng's build script runs cmake. A machine that has
//! cargo and a C compiler must be enough, and the gateway never compresses on the request path, so
//! the slower library costs nothing.

pub use libz_sys::*;
