//! Text of PDF and DOCX files (CONTRACT 29), and files that are made to break whoever reads them,
//! through the binary.

use crate::attachments::{attach, multipart, prompt, prompt_of};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::io::Write;
use support::api::{analyse, new_key, record};
use support::eventually;
use support::request::Request;
use support::stack::Stack;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const PDF: &str = "application/pdf";
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const SHOWN: &str = "BT /F1 12 Tf 72 700 Td (write to a@example.org) Tj ET";

/// A PDF file out of its objects, the first of which is its catalog.
fn pdf(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    for (number, object) in (1..).zip(objects) {
        table += &format!("{:010} 00000 n \n", file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let (start, size) = (file.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend(end.bytes());
    file
}

fn stream(dictionary: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!("<< /Length {} {dictionary} >>\nstream\n", bytes.len());
    [head.as_bytes(), bytes, b"\nendstream"].concat()
}

/// The objects of a file with one page: what its dictionary has beside, its content, and further ones
/// from number 6 on.
fn page(beside: &str, content: Vec<u8>, further: &[&str]) -> Vec<Vec<u8>> {
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R {beside} \
         /Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >> >>"
    );
    let font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";
    let mut objects: Vec<Vec<u8>> = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".into(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".into(),
        page.into(),
        font.into(),
        content,
    ];
    objects.extend(further.iter().map(|object| object.as_bytes().to_vec()));
    objects
}

const BOX: &str = "/MediaBox [0 0 612 792]";

fn docx(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// What the record says of a file that was attached to it.
fn findings(stack: &Stack, kind: &str, bytes: &[u8]) -> Value {
    let id = prompt_of(stack, "u");
    attach(stack, &id, &[("file", kind, bytes)]);
    record(stack, &id)["attachments"][0]["findings"].clone()
}

fn found(count: u32) -> Value {
    json!({"scanned": "whole", "types": [{"type": "EMAILS", "count": count}]})
}

#[test]
fn a_pdf_is_looked_at_like_a_message_with_its_links_and_fields() {
    let stack = Stack::all().start();
    let plain = page(BOX, stream("", SHOWN.as_bytes()), &["null"]);
    assert_eq!(findings(&stack, PDF, &pdf(&plain, "")), found(1));
    let link = "<< /Type /Annot /Subtype /Link /A << /S /URI /URI (mailto:b@example.org) >> >>";
    let field = "<< /FT /Tx /T (mail) /V (c@example.org) >>";
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(SHOWN.as_bytes()).unwrap();
    let content = stream("/Filter /FlateDecode", &packed.finish().unwrap());
    let whole = pdf(&page(BOX, content, &["null", link, field]), "");
    assert_eq!(
        findings(&stack, "application/octet-stream", &whole),
        found(3)
    );
}

#[test]
fn a_docx_is_looked_at_like_a_message_with_its_parts_and_links() {
    let stack = Stack::all().start();
    let body = "<w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>write to a@exa</w:t></w:r>\
        <w:r><w:t>mple.org</w:t></w:r></w:p><w:p><w:r><w:delText>b&#64;example.org</w:delText></w:r>\
        </w:p></w:body></w:document>";
    let header = "<w:hdr xmlns:w=\"w\"><w:p><w:r><w:t>c@example.org</w:t></w:r></w:p></w:hdr>";
    let links = "<Relationships><Relationship Id=\"r1\" Target=\"mailto:d@example.org\" \
        TargetMode=\"External\"/><Relationship Id=\"r2\" Target=\"e@example.org\"/></Relationships>";
    let file = docx(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", body.as_bytes()),
        ("word/header1.xml", header.as_bytes()),
        ("word/_rels/document.xml.rels", links.as_bytes()),
        ("word/styles.xml", b"<t>f@example.org</t>"),
    ]);
    assert_eq!(findings(&stack, DOCX, &file), found(4));
}

#[test]
fn a_pdf_page_that_viewers_show_is_read() {
    let stack = Stack::all().start();
    let content = || stream("", SHOWN.as_bytes());
    // The size of a page: inherited, missing everywhere, and in forms that are none.
    let mut inherited = page("", content(), &["null"]);
    inherited[1] = format!("<< /Type /Pages /Kids [3 0 R] /Count 1 {BOX} >>").into();
    // Resources that the page inherits, and a tree that bites its tail.
    let mut above = page(BOX, content(), &["null"]);
    above[1] = "<< /Type /Pages /Kids [3 0 R 2 0 R] /Count 1 /Parent 3 0 R \
        /Resources << /Font << /F1 4 0 R >> >> >>"
        .into();
    above[2] = "<< /Parent 2 0 R /Contents 5 0 R >>".into();
    let mut files = vec![("inherited", inherited), ("above", above)];
    for (what, beside) in [
        ("missing", ""),
        ("no number", "/MediaBox [0 0 /A 792]"),
        ("three numbers", "/MediaBox [0 0 612]"),
        ("no array", "/MediaBox 7"),
        ("lost", "/MediaBox 77 0 R"),
        ("art", "/MediaBox [0 0 612 792] /ArtBox [0 0]"),
    ] {
        files.push((what, page(beside, content(), &["null"])));
    }
    for (what, objects) in files {
        assert_eq!(
            findings(&stack, PDF, &pdf(&objects, "")),
            found(1),
            "{what}"
        );
    }
}

#[test]
fn a_pdf_page_that_cannot_be_read_is_marked() {
    let stack = Stack::all().start();
    let part = json!({"scanned": "part", "types": []});
    let image = "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray \
        /BitsPerComponent 8 /Length 1 >>\nstream\nA\nendstream";
    let scanned = page(BOX, stream("", b"q 612 0 0 792 0 0 cm /X Do Q"), &[image]);
    assert_eq!(findings(&stack, PDF, &pdf(&scanned, "")), part);
    let mut no_pages = page(BOX, stream("", SHOWN.as_bytes()), &["null"]);
    no_pages[1] = "<< /Type /Pages /Kids [] /Count 0 >>".into();
    assert_eq!(findings(&stack, PDF, &pdf(&no_pages, "")), part);
}

/// A PDF whose only page decompresses to more than its reader may have.
fn bomb() -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..800 {
        packed.write_all(&zeros).unwrap();
    }
    let content = stream("/Filter /FlateDecode", &packed.finish().unwrap());
    pdf(&page(BOX, content, &["null"]), "")
}

#[test]
fn a_document_that_breaks_its_reader_gets_a_note_and_nothing_else_happens() {
    let stack = Stack::all().start();
    let deep = [&b"%PDF-1.4\n1 0 obj\n"[..], &[b'['; 4 << 20]].concat();
    let nested = pdf(
        &page(
            BOX,
            stream("", b"/X Do"),
            &[
                "<< /Length 5 /Type /XObject /Subtype /Form /BBox [0 0 9 9] \
         /Resources << /XObject << /X 6 0 R >> >> >>\nstream\n/X Do\nendstream",
            ],
        ),
        "",
    );
    let locked = "/Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 \
        /O (12345678901234567890123456789012) /U (12345678901234567890123456789012) >> \
        /ID [(a) (a)]";
    let locked = pdf(&page(BOX, stream("", SHOWN.as_bytes()), &["null"]), locked);
    for (what, kind, bytes) in [
        ("no PDF", PDF, b"hello".to_vec()),
        ("a deep one", PDF, deep),
        ("one that shows itself", PDF, nested),
        ("a locked one", PDF, locked),
        ("a large one", PDF, bomb()),
        ("no archive", DOCX, b"hello".to_vec()),
        ("no part with text", DOCX, docx(&[("a.xml", b"<a/>")])),
        (
            "broken XML",
            DOCX,
            docx(&[("word/document.xml", b"<a><w:t>x</a>")]),
        ),
    ] {
        let findings = findings(&stack, kind, &bytes);
        println!("{what}: {findings}");
        assert_eq!(
            (&findings["scanned"], &findings["types"]),
            (&json!("no"), &json!([])),
            "{what}"
        );
        let note = findings["extraction"].as_str().unwrap();
        match what {
            "a locked one" => assert_eq!(note, "encrypted"),
            "a deep one" | "one that shows itself" | "a large one" => {
                assert!(["malformed", "failed"].contains(&note), "{what}: {note}");
            }
            _ => assert_eq!(note, "malformed", "{what}"),
        }
    }
    assert_eq!(analyse(&stack, "hello", json!({}))["status"], "success");
}

#[test]
fn a_small_pdf_gets_less_memory_than_a_large_one() {
    // 8 KB that decompress to 3 MB of drawing, which takes some 400 MiB once it is parsed.
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(SHOWN.as_bytes()).unwrap();
    packed.write_all(b"\n").unwrap();
    packed
        .write_all(&b"q 1 0 0 1 0 0 cm Q\n".repeat(150_000))
        .unwrap();
    let packed = packed.finish().unwrap();
    let file = |more: usize| {
        let mut objects = page(BOX, stream("/Filter /FlateDecode", &packed), &["null"]);
        objects.push(stream("", &vec![b'x'; more]));
        pdf(&objects, "")
    };
    let stack = Stack::all().start();
    let small = file(0);
    assert!(small.len() < 16 << 10);
    let small = findings(&stack, PDF, &small);
    assert_eq!(
        (&small["scanned"], &small["extraction"]),
        (&json!("no"), &json!("failed"))
    );
    assert_eq!(findings(&stack, PDF, &file(18 << 20)), found(1));
}

#[test]
fn what_can_be_read_of_a_document_is_looked_at() {
    let stack = Stack::all().start();
    // A font that nobody knows breaks the page; what stands elsewhere can be read.
    let field = "<< /FT /Tx /T (mail) /V (c@example.org) >>";
    let mut odd = page(BOX, stream("", SHOWN.as_bytes()), &["null", field]);
    odd[3] = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /Nothing >>".into();
    let one = json!({"scanned": "part", "types": [{"type": "EMAILS", "count": 1}]});
    assert_eq!(findings(&stack, PDF, &pdf(&odd, "")), one);
    // More than is decompressed, behind the text.
    let mut large = b"<a><w:p><w:t>a@example.org</w:t></w:p>".to_vec();
    large.resize(80 << 20, b' ');
    large.extend(b"</a>");
    assert_eq!(
        findings(&stack, DOCX, &docx(&[("word/document.xml", &large)])),
        one
    );
}

/// A PDF whose reading takes all the time that a reader has: many pages with a content that says nothing.
fn slow(number: usize) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let nothing = b"q 1 0 0 1 0 0 cm Q\n".repeat(1000);
    for _ in 0..200 {
        packed.write_all(&nothing).unwrap();
    }
    let content = stream("/Filter /FlateDecode", &packed.finish().unwrap());
    let one = format!("<< /Type /Page /Parent 2 0 R /Contents 5 0 R {BOX} >>");
    let pages = vec![&*one; 500];
    let mut objects = page(BOX, content, &pages);
    let kids: String = (6..506).map(|page| format!("{page} 0 R ")).collect();
    objects[1] = format!("<< /Type /Pages /Kids [{kids}] /Count 500 >>").into();
    pdf(&objects, &format!("/Number {number}"))
}

#[test]
fn slow_documents_of_one_key_delay_those_of_another_by_a_turn_at_most() {
    const SLOW: usize = 4;
    let stack = Stack::all().start();
    let key = json!({"name": "slow", "scopes": ["ingest"]});
    let key = new_key(&stack, &key);
    let sent: Vec<_> = (0..SLOW)
        .map(|number| {
            let path = prompt(&prompt_of(&stack, "u"));
            let body = multipart("attached_files", &[("file", PDF, &slow(number))]);
            Request::post(&path, body)
                .without_key()
                .header("Authorization", &format!("Bearer {key}"))
                .content_type("multipart/form-data; boundary=xyz")
                .send(stack.analysis_addr)
        })
        .collect();
    eventually("a reader is at work", || {
        readers(stack.process.id()).first().copied()
    });
    let plain = page(BOX, stream("", SHOWN.as_bytes()), &["null"]);
    assert_eq!(findings(&stack, PDF, &pdf(&plain, "")), found(1));
    let read = stack.metric("monitor_files_stored_total");
    drop(sent);
    assert!(read <= 2.0, "{read} files were read when it was");
}

/// The processes that read documents for this one.
fn readers(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).unwrap();
    let children =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let children: Vec<_> = children.collect();
    let ids = children.iter().flat_map(|ids| ids.split_whitespace());
    ids.filter_map(|id| id.parse().ok()).collect()
}
