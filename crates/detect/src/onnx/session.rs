//! One model in the runtime: token numbers in, scores out.

use rten::{Model, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A loaded model with its inputs and its first output.
pub(super) struct Session {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    /// Those that nobody uses right now. A run takes one for itself: in one pool they would wait for each
    /// other. There are as many as there were runs at a time.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

/// What an input is to hold.
#[derive(Clone, Copy)]
enum Input {
    /// The tokens' numbers.
    Tokens,
    /// One for each token.
    Ones,
    /// Zero for each token: all are of one sentence.
    Zeros,
}

/// The first output: rows of scores.
pub(super) struct Scores {
    /// Scores of one row.
    pub(super) width: usize,
    /// Row after row.
    pub(super) values: Vec<f32>,
}

impl Session {
    /// Loads a model.
    ///
    /// # Errors
    /// When it cannot be read, or takes something else than a BERT model does.
    pub(super) fn new(model: Vec<u8>) -> Result<Self, String> {
        let model = Model::load(model).map_err(|error| format!("model.onnx: {error}"))?;
        let inputs = model.input_ids().iter().map(|id| {
            let node = model.node_info(*id);
            let name = node.as_ref().and_then(|node| node.name()).unwrap_or("?");
            let input = match name {
                "input_ids" => Input::Tokens,
                "attention_mask" => Input::Ones,
                "token_type_ids" => Input::Zeros,
                _ => return Err(format!("model.onnx has an unknown input: {name}")),
            };
            Ok((*id, input))
        });
        let inputs = inputs.collect::<Result<Vec<_>, String>>()?;
        let output = *model
            .output_ids()
            .first()
            .ok_or("model.onnx answers nothing")?;
        Ok(Self {
            inputs,
            output,
            idle: Mutex::default(),
            model,
        })
    }

    /// Runs the model over one window of tokens; its answer has `N` dimensions.
    ///
    /// # Errors
    /// When it cannot run, or answers with something else than scores.
    pub(super) fn run<const N: usize>(&self, tokens: &[i32]) -> Result<Scores, String> {
        let inputs = self.filled(tokens)?;
        let thread = self.idle().pop();
        let thread = thread.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        let options = RunOptions::default().with_thread_pool(Some(thread.clone()));
        let run = || self.model.run(inputs, &[self.output], Some(options));
        // The panic's own text is dropped: nobody knows what it quotes.
        let answers = catch_unwind(AssertUnwindSafe(run));
        self.idle().push(thread);
        let mut answers = answers
            .map_err(|_| "the model failed".to_owned())?
            .map_err(|error| format!("the model cannot run: {error}"))?;
        let answer = answers.pop().ok_or("the model answers nothing")?;
        let (shape, values) = answer
            .into_shape_vec::<f32, N>()
            .map_err(|error| format!("the model answers no scores: {error}"))?;
        let width = shape.last().copied().unwrap_or_default();
        Ok(Scores { width, values })
    }

    fn filled(&self, tokens: &[i32]) -> Result<Vec<(NodeId, ValueOrView<'static>)>, String> {
        let inputs = self.inputs.iter().map(|(id, input)| {
            let values = match input {
                Input::Tokens => tokens.to_vec(),
                Input::Ones => vec![1; tokens.len()],
                Input::Zeros => vec![0; tokens.len()],
            };
            let value = Value::from_shape([1, tokens.len()], values);
            let value = value.map_err(|_| "no window of tokens".to_owned())?;
            Ok((*id, value.into()))
        });
        inputs.collect()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<ThreadPool>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
