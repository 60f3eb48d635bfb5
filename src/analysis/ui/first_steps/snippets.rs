//! The snippets to copy: a first request in three languages, with this server's own addresses.

/// What the snippets are filled with.
pub(super) struct Snippets {
    /// The gateway's address, without `/v1`.
    pub(super) gateway: String,
    /// The access key, or a word in its place.
    pub(super) key: String,
    pub(super) application: String,
    /// The model, and whether it is the built-in one, which asks for no key.
    pub(super) model: &'static str,
    pub(super) is_demo: bool,
}

/// A made-up card number: what the defaults find.
const MESSAGE: &str = "My card is 4111 1111 1111 1111";

impl Snippets {
    fn model_key(&self) -> &'static str {
        match self.is_demo {
            true => "any",
            false => "YOUR_MODEL_KEY",
        }
    }

    /// For a shell.
    pub(super) fn curl(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let authorization = match self.is_demo {
            true => String::new(),
            false => format!("  -H 'Authorization: Bearer {}' \\\n", self.model_key()),
        };
        format!(
            "curl {gateway}/v1/chat/completions \\\n  -H 'X-Monitor-Api-Key: {key}' \\\n  \
             -H 'X-Application-Id: {application}' \\\n{authorization}  \
             -H 'Content-Type: application/json' \\\n  \
             -d '{{\"model\": \"{model}\", \"messages\": [{{\"role\": \"user\", \"content\": \"{MESSAGE}\"}}]}}'"
        )
    }

    /// For Python with the package `openai`.
    pub(super) fn python(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let model_key = self.model_key();
        format!(
            "from openai import OpenAI\n\nclient = OpenAI(\n    base_url=\"{gateway}/v1\",\n    \
             api_key=\"{model_key}\",\n    default_headers={{\n        \"X-Monitor-Api-Key\": \"{key}\",\n        \
             \"X-Application-Id\": \"{application}\",\n    }},\n)\nanswer = client.chat.completions.create(\n    \
             model=\"{model}\",\n    messages=[{{\"role\": \"user\", \"content\": \"{MESSAGE}\"}}],\n)\n\
             print(answer.choices[0].message.content)"
        )
    }

    /// For JavaScript with the package `openai`.
    pub(super) fn javascript(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let model_key = self.model_key();
        format!(
            "import OpenAI from 'openai';\n\nconst client = new OpenAI({{\n  baseURL: '{gateway}/v1',\n  \
             apiKey: '{model_key}',\n  defaultHeaders: {{\n    'X-Monitor-Api-Key': '{key}',\n    \
             'X-Application-Id': '{application}',\n  }},\n}});\nconst answer = await client.chat.completions.create({{\n  \
             model: '{model}',\n  messages: [{{ role: 'user', content: '{MESSAGE}' }}],\n}});\n\
             console.log(answer.choices[0].message.content);"
        )
    }
}
