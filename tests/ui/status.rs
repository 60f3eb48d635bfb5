//! The status page while the store is away: it is a page that says so, and it comes back by itself.

use crate::world::administrator;
use support::eventually;
use support::postgres::Postgres;
use support::stack::Stack;
use support::visitor::Visitor;

#[test]
#[ignore = "needs PostgreSQL"]
fn the_status_page_says_that_the_store_is_away() {
    let mut postgres = Postgres::start();
    let database = postgres.database();
    let variables = database.owner_env().into_iter();
    let all = variables.fold(Stack::all(), |stack, (name, value)| stack.env(name, value));
    let stack = all.start();
    let mut admin = administrator(&stack);
    assert_eq!(admin.get("/ui/status").status(), 200);
    postgres.stop();
    let away = admin.get("/ui/status");
    assert_eq!(away.status(), 503, "{}", away.text());
    assert_eq!(away.head.header("retry-after"), Some("1"));
    let kind = away.head.header("content-type").unwrap();
    assert!(kind.starts_with("text/html"), "{kind}");
    let text = "The store (PostgreSQL) is not responding.";
    assert!(away.text().contains(text), "{}", away.text());
    // Somebody with a cookie that nobody can check sees as much; without one it is the page to sign in, as ever.
    let mut stranger = Visitor::new(stack.analysis_addr);
    assert_eq!(stranger.get("/ui/status").status(), 303);
    postgres.start_again();
    eventually("the page is whole again", || {
        let page = admin.get("/ui/status");
        (page.status() == 200).then_some(())
    });
}
