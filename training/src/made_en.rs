//! English sentences made for training: frames of our own and the templates of the data folder,
//! filled with names, organisations, addresses and places.

use crate::corpus::{self, Doc};
use crate::model::{ADDRESS, COMPANY, NAME, PLACE};
use crate::random::Random;
use crate::read;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

const SENTENCES: usize = 9_000;

/// What slots are filled with.
struct Stock {
    first: Vec<String>,
    last: Vec<String>,
    companies: Vec<String>,
    cities: Vec<String>,
}

pub fn docs(data: &Path) -> Vec<Doc> {
    let mut random = Random::new(41);
    let stock = stock(data);
    let mut frames: Vec<String> = FRAMES.lines().map(|line| line.replace("\\n", "\n")).collect();
    frames.retain(|line| !line.is_empty());
    let own = frames.len();
    frames.extend(templates(data));
    let mut out = Vec::new();
    for at in 0..SENTENCES {
        // Every second one is a frame of our own.
        let place = if at % 2 == 0 { random.below(own) } else { own + random.below(frames.len() - own) };
        let mut doc = fill(&frames[place], &stock, &mut random);
        doc.group = if place < own { String::new() } else { corpus::bare(&frames[place]) };
        doc.weight = 0.6;
        out.push(match random.below(8) {
            0 => lower(doc),
            1 => upper_names(doc),
            _ => doc,
        });
    }
    out
}

fn stock(data: &Path) -> Stock {
    let names = read::text(Path::new("data/names_en.tsv.gz"));
    let of = |kind: &str| -> Vec<String> {
        let lines = names.lines().filter_map(|line| line.split_once('\t'));
        lines.filter(|(found, _)| *found == kind).map(|(_, name)| capital(name)).collect()
    };
    let (mut first, mut last) = (of("first"), of("last"));
    last.truncate(20_000);
    let text = read::text(&data.join("russiannames/surnames.tsv.gz"));
    last.extend(text.lines().skip(1).step_by(60).take(2500).map(|line| latin(line.split('\t').next().unwrap_or_default())));
    let text = read::text(&data.join("russiannames/names.tsv.gz"));
    first.extend(text.lines().skip(1).take(500).map(|line| latin(line.split('\t').next().unwrap_or_default())));
    last.extend(WORLD_LAST.split_whitespace().cycle().take(4000).map(str::to_owned));
    first.extend(WORLD_FIRST.split_whitespace().cycle().take(2000).map(str::to_owned));
    let rows = read::text(&data.join("presidio-research/generated_large.json"));
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    let mut cities = BTreeSet::new();
    for span in rows.as_array().expect("rows").iter().flat_map(|row| row["spans"].as_array().expect("spans")) {
        let value = span["entity_value"].as_str().unwrap_or_default();
        if span["entity_type"] == "LOCATION" && value.chars().next().is_some_and(char::is_uppercase) {
            cities.insert(value.to_owned());
        }
    }
    cities.extend(CITIES.split(',').map(|city| city.trim().to_owned()));
    let companies = read::text(&data.join("presidio-research/companies_and_organizations.csv"));
    let companies = companies.lines().skip(1).map(|line| line.trim().trim_matches('"').to_owned());
    Stock {
        first,
        last,
        companies: companies.filter(|name| name.len() > 2 && name.len() < 50).collect(),
        cities: cities.into_iter().collect(),
    }
}

fn templates(data: &Path) -> Vec<String> {
    let text = read::text(&data.join("presidio-research/templates.txt"));
    text.lines().filter(|line| line.contains("{{")).map(|line| line.replace("\\n", "\n").replace("\\,", ",")).collect()
}

fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

fn latin(name: &str) -> String {
    const LETTERS: [&str; 32] = [
        "a", "b", "v", "g", "d", "e", "zh", "z", "i", "y", "k", "l", "m", "n", "o", "p", "r", "s", "t", "u", "f", "kh",
        "ts", "ch", "sh", "shch", "", "y", "", "e", "yu", "ya",
    ];
    let letter = |c: char| match c {
        'а'..='я' => LETTERS[c as usize - 'а' as usize],
        'ё' => "e",
        _ => "",
    };
    capital(&name.to_lowercase().chars().map(letter).collect::<String>())
}

/// A frame with its slots filled; what belongs to one address is one stretch.
fn fill(frame: &str, stock: &Stock, random: &mut Random) -> Doc {
    let mut doc = Doc::default();
    let mut rest = frame;
    while let Some((before, after)) = rest.split_once("{{") {
        let (slot, after) = after.split_once("}}").expect("slot");
        doc.text.push_str(before);
        let (value, label) = value(slot, stock, random);
        let start = doc.text.len();
        doc.text.push_str(&value);
        let end = doc.text.len();
        let joins = matches!(slot, "secondary_address" | "city" | "country" | "postcode" | "state_abbr" | "zipcode" | "street_name");
        match doc.spans.last_mut() {
            Some((ADDRESS, _, last)) if joins && doc.text[*last..start].chars().all(|c| c.is_whitespace() || ",>?".contains(c)) => {
                *last = end;
            }
            _ => doc.spans.extend(label.map(|label| (label, start, end))),
        }
        rest = after;
    }
    doc.text.push_str(rest);
    doc
}

fn value(slot: &str, stock: &Stock, random: &mut Random) -> (String, Option<usize>) {
    let first = random.pick(&stock.first).clone();
    let last = last_name(stock, random);
    let digits = |random: &mut Random, count: usize| (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect::<String>();
    match slot {
        "person" | "name" | "name_male" | "name_female" => {
            let full = match random.below(12) {
                0 => format!("{first} {}. {last}", capital(&first).chars().next().unwrap_or('J')),
                1 => format!("{}. {last}", first.chars().next().unwrap_or('J')),
                2 => format!("{first} {} {last}", random.pick(&stock.first)),
                3 => format!("{first} {last} {}", random.pick(&["Jr.", "MD", "Sr.", "PhD", "III"])),
                _ => format!("{first} {last}"),
            };
            (full, Some(NAME))
        }
        slot if slot.starts_with("first_name") => (first, Some(NAME)),
        slot if slot.starts_with("last_name") => (last, Some(NAME)),
        "organization" | "company" => (company(stock, random), Some(COMPANY)),
        "city" | "country" => (random.pick(&stock.cities).clone(), Some(PLACE)),
        "address" => (address(stock, random), Some(ADDRESS)),
        "street_name" => (street(stock, random), Some(ADDRESS)),
        "building_number" => (digits(random, 2).trim_start_matches('0').to_owned() + "1", Some(ADDRESS)),
        "secondary_address" => (flat(random), Some(ADDRESS)),
        "postcode" | "zipcode" => (digits(random, 5), Some(ADDRESS)),
        "state_abbr" => ((*random.pick(STATES)).to_owned(), Some(ADDRESS)),
        "prefix_male" => ((*random.pick(&["Mr.", "Dr.", "Mr"])).to_owned(), None),
        "prefix_female" => ((*random.pick(&["Mrs.", "Ms.", "Dr.", "Miss"])).to_owned(), None),
        "nationality" | "nation_woman" => ((*random.pick(&["German", "French", "American", "Russian", "Polish", "Italian"])).to_owned(), None),
        "job" => ((*random.pick(&["accountant", "Sales Manager", "engineer", "nurse", "Software Developer"])).to_owned(), None),
        "year" => (format!("19{}", digits(random, 2)), None),
        "age" => (digits(random, 2), None),
        "product" => ((*random.pick(PRODUCTS)).to_owned(), None),
        "order" => ((*random.pick(&ORDERS.split_whitespace().collect::<Vec<_>>())).to_owned(), None),
        "code" => ((*random.pick(CODES)).to_owned(), None),
        "thing" => ((*random.pick(THINGS)).to_owned(), None),
        "number" => (format!("{}", random.below(1_000_000)), None),
        "credit_card_number" => {
            let groups = match random.below(4) {
                0 => vec![16],
                1 => vec![4, 6, 5],
                2 => vec![15],
                _ => vec![4, 4, 4, 4],
            };
            let mark = *random.pick(&[" ", "-"]);
            (groups.iter().map(|count| digits(random, *count)).collect::<Vec<_>>().join(mark), None)
        }
        "email" => (format!("{}@example.com", first.to_lowercase()), None),
        "url" => (format!("http://www.{}.com/", last.to_lowercase()), None),
        _ => (format!("{}-{}", digits(random, 3), digits(random, 5)), None),
    }
}

fn last_name(stock: &Stock, random: &mut Random) -> String {
    let last = random.pick(&stock.last).clone();
    match random.below(30) {
        0 => format!("{last}-{}", random.pick(&stock.last)),
        1 => format!("{} {last}", random.pick(&["van", "de", "von", "Van der", "ten", "Del", "Mac", "di"])),
        2 => format!("O'{last}"),
        3 => format!("Mc{last}"),
        _ => last,
    }
}

fn company(stock: &Stock, random: &mut Random) -> String {
    let last = |random: &mut Random| random.pick(&stock.last).clone();
    let (a, b, c) = (last(random), last(random), last(random));
    match random.below(12) {
        0 => format!("{a}, {b} and {c}"),
        1 => format!("{a}-{b}"),
        2 => format!("{a} {}", random.pick(&["LLC", "Inc", "Ltd", "PLC", "Group", "and Sons", "& Co.", "GmbH", "Inc."])),
        3 => format!("{a} & {b}"),
        4 => {
            let suffix = random.pick(&["Bank", "Systems", "Partners", "Holdings", "Labs", "Airlines", "Insurance", "Logistics", "Media"]);
            format!("{} {suffix}", random.pick(WORDS))
        }
        5 => format!("{} {} {}", random.pick(WORDS), random.pick(WORDS), random.pick(&["Corp.", "Inc.", "Ltd", "LLC", "Corporation"])),
        _ => random.pick(&stock.companies).clone(),
    }
}

fn street(stock: &Stock, random: &mut Random) -> String {
    let number = 1 + random.below(900);
    match random.below(5) {
        0 => format!("{number} {} {}", random.pick(&["Rue", "Via", "Calle", "Avenida", "Rua", "ul.", "Boulevard"]), random.pick(&stock.last)),
        1 => format!("{}{} {number}", random.pick(&stock.last), random.pick(&["strasse", "straat", "gatan", "vej", "gata", "katu", "veien"])),
        2 => format!("{number} {} {}", random.pick(&["North", "East", "Old", "West", "New"]), random.pick(STREETS)),
        _ => format!("{number} {} {}", random.pick(&stock.last), random.pick(STREETS)),
    }
}

fn flat(random: &mut Random) -> String {
    let number = 1 + random.below(990);
    format!("{} {number}", random.pick(&["Apt.", "Suite", "Unit", "Flat", "Apt", "Floor", "#", "Room"]))
}

fn address(stock: &Stock, random: &mut Random) -> String {
    let digits = |random: &mut Random, count: usize| (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect::<String>();
    let street = street(stock, random);
    let city = random.pick(&stock.cities).clone();
    let code = digits(random, 5);
    let state = *random.pick(STATES);
    match random.below(11) {
        0 => format!("{street}, {city}, {state} {code}"),
        1 => format!("{street}\n {}\n {city}\n {code}", flat(random)),
        2 => format!("{}, {street}, {city} {}{} {}{}", flat(random), random.pick(&["SW", "BS", "LS", "EC", "M"]), random.below(20), random.below(9), random.pick(&["AA", "TR", "PU", "XD"])),
        3 => format!("{street} {} {city} {}", flat(random), random.pick(&stock.cities)),
        4 => format!("{street}, {city}"),
        5 => format!("{street}"),
        6 => format!("Unit {} Box {}\nDPO AP {code}", digits(random, 4), digits(random, 4)),
        7 => format!("PSC {}, Box {}\nAPO {} {code}", digits(random, 4), digits(random, 4), random.pick(&["AE", "AA", "AP"])),
        8 => format!("P.O. Box {}, {city}, {state} {code}", digits(random, 4)),
        9 => format!("{street}\n{city}, {state} {code}"),
        _ => format!("{street}, {}, {city} {code}", flat(random)),
    }
}

fn lower(doc: Doc) -> Doc {
    let text = doc.text.to_lowercase();
    if text.len() == doc.text.len() { Doc { text, ..doc } } else { doc }
}

fn upper_names(mut doc: Doc) -> Doc {
    for (label, start, end) in &doc.spans {
        let upper = doc.text[*start..*end].to_uppercase();
        if *label == NAME && upper.len() == end - start {
            doc.text.replace_range(*start..*end, &upper);
        }
    }
    doc
}

const STATES: &[&str] = &["CA", "NY", "TX", "MA", "WA", "IL", "FL", "PA", "OH", "GA", "NC", "MI", "AZ", "CO"];
const STREETS: &[&str] = &[
    "Street", "St", "St.", "Avenue", "Ave", "Road", "Rd", "Lane", "Drive", "Court", "Boulevard", "Blvd", "Way", "Place",
    "Square", "Terrace", "Crescent", "Highway", "Parkway", "Close", "Gardens", "Row", "Walk", "Hill",
];
const WORDS: &[&str] = &[
    "Blue", "Northern", "Summit", "Apex", "Global", "Pacific", "Silver", "Granite", "Quantum", "Evergreen", "Vertex",
    "Pioneer", "Harbor", "Cedar", "Bright", "United", "First", "Delta", "Atlas", "Crystal", "Iron", "Lunar", "Solar",
    "Prime", "Nova", "Coastal", "Metro", "Digital", "Green", "Royal", "Falcon", "Orion", "Redwood", "Stone",
];
const PRODUCTS: &[&str] = &[
    "Windows", "Excel", "Python", "Kubernetes", "PostgreSQL", "JavaScript", "Rust", "Linux", "Docker", "Photoshop",
    "Outlook", "Android", "Word", "PowerPoint", "React", "Git", "Bash", "Terraform", "Chrome", "MacBook", "iPhone",
];
const CITIES: &str = "London, Paris, Berlin, New York, Los Angeles, Chicago, Houston, Madrid, Rome, Tokyo, Sydney, Toronto, Moscow, Vienna, Prague, Warsaw, Lisbon, Dublin, Oslo, Helsinki, Amsterdam, Brussels, Athens, Istanbul, Cairo, Mumbai, Delhi, Beijing, Shanghai, Seoul, Singapore, Bangkok, Boston, Seattle, Denver, Austin, Dallas, Miami, Atlanta, Phoenix, Manchester, Leeds, Bristol, Glasgow, Munich, Hamburg, Milan, Naples, Barcelona, Germany, France, Italy, Spain, Canada, Australia, Japan, China, India, Brazil, Mexico, Russia, Sweden, Norway, Poland, United States, United Kingdom, California, Texas";
const WORLD_LAST: &str = "Müller Schmidt Fischer Weber Dubois Lefèvre Moreau García Fernández Rossi Bianchi Novák Svoboda Kowalski Wiśniewski Nagy Szabó Horváth Popescu Ionescu Jovanović Petrović Nielsen Hansen Johansson Lindqvist Virtanen Korhonen Silva Santos Oliveira Tanaka Suzuki Yamamoto Kim Park Nguyen Tran Wang Li Zhang Chen Singh Patel Sharma Khan Ali Hussain Okafor Mensah Mbeki Cohen Levi Yılmaz Kaya Papadopoulos Ivanova Smirnova Kuznetsova Petrova Shevchenko Bondarenko Þórsson Ōno Čapek Łukasz Żak Đorđević Åkesson Øster Ñíguez Kovács Tóth Varga Krüger Schäfer Böhm";
const WORLD_FIRST: &str = "Jürgen François Zoë José María Jesús Miloš Tomáš Péter István László Øyvind Søren Åsa Björn Łukasz Paweł Małgorzata Agnieszka Giulia Matteo Lucía Íñigo João Inês Nuno Yuki Haruto Sakura Min-jun Wei Ling Xiu Priya Arjun Rahul Ananya Mohammed Fatima Aisha Omar Chinedu Amara Kwame Olga Dmitri Svetlana Natalia Sergei Ivan Ekaterina Mehmet Ayşe Eleni Giorgos Ion Elena Bogdan Zlatan Marija Goran";
const ORDERS: &str = "Describe Rewrite Convert Explain Summarise Summarize Translate List Write Create Generate Find Fix Give Tell Show Compare Classify Extract Imagine Pretend Act Provide Suggest Make Compose Design Develop Outline Identify Discuss Analyze Answer Calculate Draft Edit Improve Help Ignore Forget Repeat Print Sort Remove Add Replace Plan Evaluate Predict Recommend Simplify";
const CODES: &[&str] = &[
    "Room", "Order", "Error", "Ticket", "Version", "Flight", "Invoice", "Status", "Code", "Page", "Chapter", "IMEI", "ISBN", "Hash",
    "Commit", "Build", "Port", "Line", "Step", "Tracking", "Serial", "Account", "CVV", "SKU", "Case", "Bus", "Level",
];
const THINGS: &[&str] = &[
    "the following text", "this sentence", "a short story", "the main idea", "three examples", "a list of movies",
    "a poem about autumn", "the code below", "an essay on climate change", "a marketing plan", "the benefits of exercise",
    "ways to save money", "the plot of the novel", "a SQL query", "a job description", "the history of jazz",
    "legitimate strategies", "a dialogue between two friends", "the rules of chess", "a secret hideout", "a fictional city",
];
const FRAMES: &str = r#"
{{order}} {{thing}}.
{{order}} {{thing}}, please.
{{order}} {{thing}} and {{thing}}.
{{order}} {{thing}} in {{product}}.
{{order}} {{thing}} in {{number}} words.
Can you {{order}} {{thing}}?
You are an expert in {{product}}. {{order}} {{thing}}.
{{code}} {{number}}, {{code}} {{number}}, {{code}} {{number}}.
{{code}}: {{number}}\n{{code}}: {{number}}
{{code}} {{number}} failed with {{code}} {{number}}.
My Amex is {{credit_card_number}}, CID {{age}}.
Charge my card {{credit_card_number}} today.
The card number is {{credit_card_number}} and the {{code}} is {{number}}.
Call me at {{phone_number}} or at {{phone_number}}.
The {{code}} number is {{number}}.
What does the acronym {{code}} stand for?
Dear {{person}}, thank you for your letter.
Dear Mr. {{last_name}}, your order has been shipped.
Hi {{first_name}}, can we move the meeting to Friday?
Hello {{first_name}} and {{first_name}}, please find the report attached.
Regards,\n{{person}}\n{{company}}
Best wishes, {{first_name}}
{{person}} works at {{company}} in {{city}}.
Write a letter to {{person}} about the delayed delivery.
Please draft an email to {{person}} from {{company}} about the invoice.
Summarise the contract between {{company}} and {{company}}.
The agreement between {{company}} and {{person}} was signed in {{city}}.
{{company}} reported record profits this quarter.
Shares of {{company}} fell after the announcement, said {{person}}.
{{person}}, the head of sales at {{company}}, declined to comment.
I spoke with {{person}} yesterday about the {{product}} migration.
My colleague {{person}} will call you tomorrow.
My manager is {{person}} and my team lead is {{person}}.
The patient, {{person}}, was admitted on Monday.
Patient {{person}} lives at {{address}}.
Ship the parcel to {{address}}.
Send it to {{person}}, {{address}}.
Our new office is located at {{address}}.
Her address is {{address}}, and her phone is {{phone_number}}.
Deliver to: {{address}}
Address: {{address}}
I live at {{address}} with my family.
We moved from {{address}} to {{address}} last year.
Meet me at {{street_name}} near the station.
{{company}}, {{address}}, phone {{phone_number}}
Invoice for {{company}}\n{{address}}\nTotal: 300
Customer: {{person}}\nCompany: {{company}}\nPhone: {{phone_number}}
Name: {{person}}\nEmail: {{email}}\nAddress: {{address}}
name: {{person}}, email: {{email}}
{{last_name}}, {{first_name}} - account {{phone_number}}
From: {{person}} <{{email}}>\nTo: {{person}} <{{email}}>
Who is {{person}}?
Is {{person}} still employed by {{company}}?
Who owns {{company}}?
We bought the laptops from {{company}} in {{year}}.
She left {{company}} to join {{company}}.
He has been with {{company}} since {{year}}.
The lawsuit against {{company}} was dismissed in {{city}}.
According to {{person}}, the project will cost less.
"We are very happy with the result," said {{person}}.
{{person}} and {{person}} got married in {{city}}.
{{first_name}} told me that {{first_name}} is ill.
Ask {{first_name}} whether {{last_name}} has signed.
Witness: {{person}}
Signed by {{person}} on behalf of {{company}}.
{{company}} hired {{person}} as {{job}}.
I work as {{job}} at {{company}}.
I am {{person}} and I forgot my password.
This is {{person}} from {{company}}, please call me back.
Call {{person}} at {{phone_number}}.
The account belongs to {{person}}.
Card holder: {{person}}
Passport issued to {{person}}, born in {{city}}.
Transfer the money from {{company}} to {{person}}.
The meeting with {{company}} is on Tuesday in {{city}}.
{{city}} is a beautiful place to visit in May.
I flew from {{city}} to {{city}} last week.
How do I install {{product}} on my computer?
Explain how {{product}} handles memory.
Write a {{product}} script that renames files.
What is the difference between {{product}} and {{product}}?
Translate this sentence into French, please.
The Quick Start Guide explains the Settings page.
Open the File menu and choose Save As.
Monday and Tuesday are public holidays in {{country}}.
Error: Connection refused at line 42 of main.py
Thanks! Could You Please Help Me With This Task?
Create a table with the columns Name, Company and Address.
Act as a helpful assistant and answer in English.
What Is The Best Way To Learn Programming?
The President of the United States lives in the White House.
Please review the Terms of Service and the Privacy Policy.
Step 1: Open the app. Step 2: Press the Start button.
List the top 10 movies of {{year}}.
Describe the Renaissance and its influence on Europe.
The Amazon rainforest is shrinking every year.
Merry Christmas and Happy New Year!
Give me a recipe for Caesar salad.
TODO: Fix the Login button. NOTE: Do not deploy on Friday.
My order 12345 has not arrived yet.
Version 2.4.1 was released on Friday.
In Chapter 3 the author describes the Industrial Revolution.
SELECT name, address FROM users WHERE id = 7;
I have 3 apples and 20 oranges.
The room number is 305 and the code is 8842.
It was 20 degrees below zero in {{city}}.
Employees of {{company}} must read the Code of Conduct.
{{person}} ({{company}}) and {{person}} ({{company}}) attended.
{{company}}'s new product was presented by {{person}}.
{{person}}'s lawyer, {{person}}, filed a complaint.
Attendees: {{person}}, {{person}}, {{first_name}} {{last_name}}
Contact {{first_name}} at {{email}} for details.
My neighbour {{first_name}} has a dog called Rex.
the invoice was sent by {{person}} from {{company}}
The new {{last_name}} record is out in stores.
It sounds like late {{last_name}}, only louder.
Every {{last_name}} film ends the same way.
I prefer an old {{last_name}} painting to this one.
A classic {{last_name}} melody opens the show.
"That was a mistake," {{last_name}} admitted.
"We have no choice," added {{first_name}}.
{{last_name}} argued that the law was unfair.
Critics compared {{last_name}} with {{last_name}}.
Neither {{last_name}} nor {{last_name}} wanted to play.
{{last_name}} and {{last_name}} wrote the script together.
The band was founded by {{first_name}} and {{first_name}} in {{year}}.
It was {{last_name}} who scored the first goal.
The judge asked {{last_name}} to sit down.
In the book, {{first_name}} leaves home and meets {{first_name}}.
Here is {{first_name}}'s phone number: {{phone_number}}
I borrowed {{first_name}}'s car yesterday.
{{last_name}}'s theory was rejected at first.
Before the wedding she was called {{last_name}}.
She kept her maiden name, {{last_name}}.
Everybody calls him {{first_name}}.
My friends know me as {{first_name}}.
{{first_name}} is kind and always on time.
Do you remember {{first_name}}, {{first_name}} and {{first_name}}?
The play stars {{person}} and {{last_name}}.
Directed by {{person}}, the film won a prize.
Music by {{person}}, lyrics by {{person}}.
Have you read anything by {{person}}?
Tickets for the {{person}} tour are sold out.
The {{person}} biography was a best-seller.
A song for {{first_name}}, who left us in {{year}}.
{{first_name}}, wake up! {{first_name}} is here.
{{first_name}}: Where is the key?\n{{first_name}}: On the table.
Goodbye, {{first_name}}.
The killer of {{person}} was caught.
{{person}}, {{age}}, of {{city}}, was found guilty.
The widow of {{person}} thanked the doctors.
Mr. {{last_name}} is an old friend of Mrs. {{last_name}}.
Dr. {{last_name}} will see you at noon.
Please change the name on my card to {{person}}.
The booking may be under {{last_name}} or {{last_name}}.
Elves, Dwarves and Hobbits live in the forest.
Martians landed, and the Romans laughed.
C'mon, sing along!
Let's go, it's late, and I'd rather stay.
The Queen arrived from {{country}} on Sunday.
Jazz, Blues and Rock are popular in {{country}}.
{{company}} was founded in {{year}} and serves {{country}}.
{{company}} is a bank with offices in {{city}}.
{{company}} invested heavily in chips during {{year}}.
The {{company}} campus is next to {{street_name}}.
{{company}} employees went on strike.
He quit his job at {{company}} two months ago.
She recorded an album for {{company}}.
{{company}} software is slow, says {{last_name}}.
The office of {{company}} is at {{address}}.
{{company}}\n{{address}}
{{person}}\n{{company}}\n{{address}}\n{{phone_number}}
{{person}}\n{{address}}
I was born in {{city}} and I am {{age}} years old.
The {{city}} bridge was closed in {{year}}.
"#;
