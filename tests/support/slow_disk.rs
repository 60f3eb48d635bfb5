//! A disk that takes its time: a library that is loaded into the process (`LD_PRELOAD`) delays each sync of a file.

use crate::stack::{Builder, Folder};
use std::process::Command;
use std::time::Duration;

const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_for_disk(void) {
    const char *micros = getenv("SYNC_MICROS");
    if (micros) usleep(atoi(micros));
}

int fdatasync(int file) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fdatasync");
    wait_for_disk();
    return next(file);
}

int fsync(int file) {
    int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
    wait_for_disk();
    return next(file);
}
"#;

/// A process for which every sync takes so long. The library goes to the folder.
///
/// # Panics
/// Where there is no C compiler, which building the program needs as well.
pub fn with_slow_syncs(stack: Builder, folder: &Folder, time: Duration) -> Builder {
    folder.write("slow_disk.c", LIBRARY);
    let library = folder.path().join("slow_disk.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(folder.path().join("slow_disk.c"))
        .arg("-ldl")
        .status();
    assert!(built.unwrap().success());
    stack
        .env("LD_PRELOAD", library.to_string_lossy())
        .env("SYNC_MICROS", time.as_micros().to_string())
}
