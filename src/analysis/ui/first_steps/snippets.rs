//! The snippets to copy: a first request for two shells and in two languages, and with the libraries of the Responses
//! and the Messages API; settings of two programs that act on their own. They have this server's own addresses.

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
    /// Every snippet: the identifier of its element, its name and its text.
    pub(super) fn all(&self) -> [(&'static str, &'static str, String); 8] {
        [
            ("snippet-curl", "curl", self.curl()),
            (
                "snippet-powershell",
                "PowerShell (Windows)",
                self.powershell(),
            ),
            ("snippet-python", "Python", self.python()),
            ("snippet-javascript", "JavaScript", self.javascript()),
            (
                "snippet-agents-sdk",
                "OpenAI Agents SDK (Python)",
                self.agents_sdk(),
            ),
            (
                "snippet-anthropic",
                "Anthropic SDK (Python)",
                self.anthropic(),
            ),
            (
                "snippet-codex",
                "Codex (~/.codex/config.toml)",
                self.codex(),
            ),
            ("snippet-claude-code", "Claude Code", self.claude_code()),
        ]
    }

    fn model_key(&self) -> &'static str {
        match self.is_demo {
            true => "any",
            false => "YOUR_MODEL_KEY",
        }
    }

    /// The body of a first request.
    pub(super) fn body(model: &str) -> String {
        format!(
            "{{\"model\": \"{model}\", \"messages\": [{{\"role\": \"user\", \"content\": \"{MESSAGE}\"}}]}}"
        )
    }

    /// For a Unix shell.
    fn curl(&self) -> String {
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
             -H 'Content-Type: application/json' \\\n  -d '{}'",
            Self::body(model)
        )
    }

    /// For PowerShell, whose `curl` is another program.
    fn powershell(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let authorization = match self.is_demo {
            true => String::new(),
            false => format!("\n  'Authorization' = 'Bearer {}'", self.model_key()),
        };
        format!(
            "$headers = @{{\n  'X-Monitor-Api-Key' = '{key}'\n  'X-Application-Id' = '{application}'{authorization}\n}}\n\
             Invoke-RestMethod -Method Post -Uri '{gateway}/v1/chat/completions' `\n  -Headers $headers \
             -ContentType 'application/json' `\n  -Body '{}'",
            Self::body(model)
        )
    }

    /// For Python with the package `openai`.
    fn python(&self) -> String {
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
    fn javascript(&self) -> String {
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

    /// For Python with the package `openai-agents`, which speaks the Responses API.
    fn agents_sdk(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let model_key = self.model_key();
        format!(
            "from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled\n\
             from openai import AsyncOpenAI\n\n\
             set_tracing_disabled(True)  # else the SDK also sends prompts and answers to OpenAI\n\
             client = AsyncOpenAI(\n    base_url=\"{gateway}/v1\",\n    \
             api_key=\"{model_key}\",\n    default_headers={{\n        \"X-Monitor-Api-Key\": \"{key}\",\n        \
             \"X-Application-Id\": \"{application}\",\n    }},\n)\n\
             model = OpenAIResponsesModel(model=\"{model}\", openai_client=client)\n\
             result = Runner.run_sync(Agent(name=\"Assistant\", model=model), \"{MESSAGE}\")\n\
             print(result.final_output)"
        )
    }

    /// For Python with the package `anthropic`, which speaks the Messages API. Its base URL has no `/v1`.
    fn anthropic(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            model,
            ..
        } = self;
        let model_key = self.model_key();
        format!(
            "from anthropic import Anthropic\n\nclient = Anthropic(\n    base_url=\"{gateway}\",\n    \
             api_key=\"{model_key}\",\n    default_headers={{\n        \"X-Monitor-Api-Key\": \"{key}\",\n        \
             \"X-Application-Id\": \"{application}\",\n    }},\n)\nmessage = client.messages.create(\n    \
             model=\"{model}\",\n    max_tokens=1000,\n    \
             messages=[{{\"role\": \"user\", \"content\": \"{MESSAGE}\"}}],\n)\n\
             print(message.content[0].text)"
        )
    }

    /// For the configuration of Codex, which reads headers from the environment.
    fn codex(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            ..
        } = self;
        format!(
            "# export MONITOR_API_KEY='{key}'\nmodel_provider = \"monitor\"\n\n[model_providers.monitor]\n\
             name = \"Monitor\"\nbase_url = \"{gateway}/v1\"\nwire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\n\
             env_http_headers = {{ \"X-Monitor-Api-Key\" = \"MONITOR_API_KEY\" }}\n\
             http_headers = {{ \"X-Application-Id\" = \"{application}\" }}"
        )
    }

    /// For the environment of Claude Code.
    fn claude_code(&self) -> String {
        let Self {
            gateway,
            key,
            application,
            ..
        } = self;
        format!(
            "export ANTHROPIC_BASE_URL={gateway}\nexport ANTHROPIC_CUSTOM_HEADERS='X-Monitor-Api-Key: {key}\n\
             X-Application-Id: {application}'"
        )
    }
}
