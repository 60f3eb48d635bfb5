//! What somebody may have put under the names of the gateway's own files: a start reads regular files only, and
//! ends (CONTRACT 14).

use std::os::unix::fs::symlink;
use std::path::Path;
use support::fault::free_port;
use support::make_pipe;
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

/// Places something without an end under that name.
type Trap = fn(&Path);

const TRAPS: [Trap; 3] = [
    |path| symlink("/dev/zero", path).unwrap(),
    |path| make_pipe(path),
    |path| std::fs::create_dir(path).unwrap(),
];

#[test]
fn a_copy_of_policies_that_is_no_regular_file_is_named_and_left_alone() {
    for trap in TRAPS {
        let (folder, upstream) = (Folder::new(), Upstream::ok());
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        trap(&data.join("policies.json"));
        let port = free_port();
        let store = format!(
            "store: {{host: 127.0.0.1, port: {port}, db: d, user: u, password: p, ssl: false}}"
        );
        let stack = Stack::gateway().upstream(&upstream).folder(&folder);
        let stack = stack.yaml(&store).start();
        stack.process.await_stderr("the reason", |text| {
            let reason = "policies.json: it is not a regular file; remove it";
            text.contains(reason).then_some(())
        });
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
}
