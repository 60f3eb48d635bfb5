//! Clients that generators make of both documents: nothing is left out, and their calls reach the real binary. The
//! scripts `generated_client.*` hold the assertions.

use crate::tools::{DOCUMENTS, NodeFolder, beside, documents, go, succeed, tool};
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
#[ignore = "needs openapi-generator and Go"]
fn clients_that_openapi_generator_makes_in_go_work() {
    let folder = documents();
    for (name, _) in DOCUMENTS {
        let target = folder.path().join(name);
        let mut generator = tool("openapi-generator-cli");
        generator.args(["generate", "--package-name", name]);
        generator.arg("-c").arg(beside("openapi_generator.yaml"));
        generator.arg("-i").arg(target.with_extension("json"));
        succeed(generator.arg("-o").arg(target));
    }
    folder.write("go.mod", "module contract\n\ngo 1.23\n");
    std::fs::copy(beside("generated_client.go"), folder.path().join("main.go")).unwrap();
    let stack = Stack::all().start();
    let mut script = go();
    script.current_dir(folder.path()).args(["run", "."]);
    script.args(addresses(&stack));
    script.args([KEY, &stack.application_id()]);
    println!("{}", succeed(&mut script));
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
