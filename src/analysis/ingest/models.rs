//! Loads the models that the settings name at startup, and makes detectors and guardrails of them.
//! `monitor_detect` defines what the files of a model must contain.

use crate::analysis::start_error::StartError;
use crate::config::DetectSettings;
use monitor_detect::guardrails::SecondStage;
use monitor_detect::{Detector, Engine};

/// The models besides the built-in detection.
#[derive(Default)]
pub struct Models {
    detectors: Vec<Box<dyn Detector>>,
    second_stage: Option<SecondStage>,
}

impl Models {
    /// Loads the configured models.
    ///
    /// # Errors
    /// When one cannot be used: without it, less would be found than configured.
    #[cfg(not(feature = "onnx"))]
    pub fn read(_: &DetectSettings) -> Result<Self, StartError> {
        // The configuration has refused every folder already.
        Ok(Self::default())
    }

    /// Loads the configured models.
    ///
    /// # Errors
    /// When one cannot be used: without it, less would be found than configured.
    #[cfg(feature = "onnx")]
    pub fn read(settings: &DetectSettings) -> Result<Self, StartError> {
        let mut models = Self::default();
        if let Some(tagger) = &settings.tagger {
            models.detectors = onnx::tagger(tagger).map_err(unusable(&tagger.folder))?;
        }
        if let Some(classifier) = &settings.classifier {
            let made = onnx::classifier(classifier).map_err(unusable(&classifier.folder))?;
            models.second_stage = Some(SecondStage::new(made, classifier.when));
        }
        Ok(models)
    }

    /// Whether there is no model.
    pub fn are_none(&self) -> bool {
        self.detectors.is_empty() && self.second_stage.is_none()
    }

    /// Adds the models to an engine.
    pub fn beside(self, engine: Engine) -> Engine {
        engine
            .with(self.detectors)
            .with_second_stage(self.second_stage)
    }
}

#[cfg(feature = "onnx")]
fn unusable(folder: &std::path::Path) -> impl FnOnce(String) -> StartError {
    let folder = folder.to_owned();
    |reason| StartError::Model { folder, reason }
}

#[cfg(feature = "onnx")]
mod onnx {
    use crate::analysis::clock::steady_us;
    use crate::config::{ClassifierSettings, ModelBounds, TaggerSettings};
    use monitor_detect::Detector;
    use monitor_detect::guardrails::Guardrail;
    use monitor_detect::onnx::{Classifier, InferenceLimits, ModelFiles, Tagger};
    use std::fs;
    use std::path::Path;
    use std::str::FromStr;

    /// The largest model file that is read, in bytes.
    const LARGEST: u64 = 2 << 30;

    pub(crate) fn tagger(settings: &TaggerSettings) -> Result<Vec<Box<dyn Detector>>, String> {
        let (parts, bounds) = (parts(&settings.folder)?, bounds(settings.bounds));
        let tagger = Tagger::new(parts, &meant(&settings.labels), bounds)?;
        Ok(tagger.detectors())
    }

    pub(crate) fn classifier(
        settings: &ClassifierSettings,
    ) -> Result<Vec<Box<dyn Guardrail>>, String> {
        let (parts, bounds) = (parts(&settings.folder)?, bounds(settings.bounds));
        let meant = meant(&settings.labels);
        let classifier = Classifier::new(parts, &meant, &settings.thresholds, bounds)?;
        Ok(classifier.guardrails())
    }

    /// The configuration has checked the names.
    fn meant<T: FromStr>(labels: &[(String, String)]) -> Vec<(String, T)> {
        let known = |(label, name): &(String, String)| Some((label.clone(), name.parse().ok()?));
        labels.iter().filter_map(known).collect()
    }

    fn bounds(settings: ModelBounds) -> InferenceLimits {
        InferenceLimits {
            max_windows: settings.max_windows,
            time_us: u64::try_from(settings.timeout.as_micros()).unwrap_or(u64::MAX),
            clock: steady_us,
        }
    }

    /// The contents of a model's folder.
    fn parts(folder: &Path) -> Result<ModelFiles, String> {
        let tokenizer = match folder.join("tokenizer.json").exists() {
            true => "tokenizer.json",
            false => "vocab.txt",
        };
        Ok(ModelFiles {
            model: bytes(folder, "model.onnx")?,
            vocabulary: text(folder, tokenizer)?,
            config: text(folder, "config.json")?,
        })
    }

    fn text(folder: &Path, name: &str) -> Result<String, String> {
        String::from_utf8(bytes(folder, name)?).map_err(|_| format!("{name} is no UTF-8"))
    }

    fn bytes(folder: &Path, name: &str) -> Result<Vec<u8>, String> {
        let path = folder.join(name);
        let unread = |error: std::io::Error| format!("{name}: {error}");
        let file = fs::metadata(&path).map_err(unread)?;
        if !file.is_file() || file.len() > LARGEST {
            return Err(format!("{name} is no file of at most {LARGEST} bytes"));
        }
        fs::read(&path).map_err(unread)
    }
}
