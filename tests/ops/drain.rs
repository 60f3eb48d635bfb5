//! How long a stop waits for load balancers to notice it (`shutdown.min_drain`).

use std::time::{Duration, Instant};
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use support::upstream::Upstream;

/// Checks a process for a while, as a balancer does.
fn watch(stack: &Stack) {
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(1_200) {
        assert_eq!(stack.operations("/readyz").status(), 200);
    }
}

#[test]
fn a_stop_waits_for_balancers_only_where_something_asks_again_and_again() {
    let upstream = Upstream::ok();
    let mut stack = Stack::before(&upstream);
    stack.process.signal("TERM");
    stack.process.await_stderr("no wait", |text| {
        text.contains("accepted for another 0ns").then_some(())
    });
    assert_eq!(stack.process.await_exit().0.code(), Some(0));
    for stack in [Stack::before(&upstream), Stack::analysis_bare().start()] {
        let mut stack = stack;
        watch(&stack);
        stack.process.signal("TERM");
        stack.process.await_stderr("a wait", |text| {
            text.contains("accepted for another 7s").then_some(())
        });
        eventually("it says that it stops", || {
            let asked = Request::get("/readyz").without_key();
            (asked.try_status(stack.operations_addr)? == 503).then_some(())
        });
        // Somebody who does not want to wait interrupts.
        stack.process.signal("INT");
        assert_eq!(stack.process.await_exit().0.code(), Some(0));
    }
    let yaml = "shutdown: {min_drain: 0s}";
    let mut stack = Stack::analysis_bare().yaml(yaml).start();
    watch(&stack);
    stack.process.signal("TERM");
    stack.process.await_stderr("the fixed wait", |text| {
        text.contains("accepted for another 0ns").then_some(())
    });
    assert_eq!(stack.process.await_exit().0.code(), Some(0));
}
