//! Clients that generators make of both documents: nothing is left out, and their calls reach the real binary. The
//! scripts `generated_client.*` hold the assertions.

use crate::tools::{DOCUMENTS, NodeFolder, beside, documents, succeed, tool};
use support::KEY;
use support::stack::Stack;

fn addresses(stack: &Stack) -> [String; 2] {
    [stack.gateway_addr, stack.analysis_addr].map(|address| format!("http://{address}"))
}

#[test]
#[ignore = "needs openapi-python-client"]
fn clients_that_openapi_python_client_makes_work() {
    let folder = documents();
    for (name, _) in DOCUMENTS {
        let target = folder.path().join(name);
        let mut generator = tool("openapi-python-client");
        // A warning stands for an operation or a schema that is left out.
        generator.args(["generate", "--meta", "none", "--fail-on-warning"]);
        generator
            .arg("--config")
            .arg(beside("openapi_python_client.yaml"));
        generator.arg("--path").arg(target.with_extension("json"));
        succeed(generator.arg("--output-path").arg(target));
    }
    let stack = Stack::all().start();
    let mut script = tool("python");
    script.arg(beside("generated_client.py")).arg(folder.path());
    println!("{}", succeed(script.args(addresses(&stack)).arg(KEY)));
}

#[test]
#[ignore = "needs openapi-typescript, openapi-fetch and TypeScript"]
fn clients_with_types_of_openapi_typescript_work() {
    let (folder, node) = (documents(), NodeFolder::new());
    for (name, _) in DOCUMENTS {
        let mut generator = tool("openapi-typescript");
        // In the folder of the documents: it writes paths relative to where it runs.
        generator
            .current_dir(folder.path())
            .arg(format!("{name}.json"));
        let types = node.0.join(name).with_extension("d.ts");
        succeed(generator.arg("--output").arg(types));
    }
    let stack = Stack::all().start();
    let mut script = node.compiled("generated_client.ts");
    script
        .args(addresses(&stack))
        .args([KEY, &stack.application_id()]);
    println!("{}", succeed(&mut script));
}
