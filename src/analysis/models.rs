//! Reads the folders of models that the settings name, at the start, and makes detectors of them. What a
//! model's files must hold, `detect` says.

use super::start::StartError;
use crate::config::settings::DetectSettings;
use crate::detect::Detector;

/// The detectors of the models that are named.
///
/// # Errors
/// When a model cannot be used: with one missing, less would be found than was asked for.
#[cfg(not(feature = "onnx"))]
pub(super) fn detectors(_: &DetectSettings) -> Result<Vec<Box<dyn Detector>>, StartError> {
    // The configuration has refused every folder.
    Ok(Vec::new())
}

/// The detectors of the models that are named.
///
/// # Errors
/// When a model cannot be used: with one missing, less would be found than was asked for.
#[cfg(feature = "onnx")]
pub(super) fn detectors(settings: &DetectSettings) -> Result<Vec<Box<dyn Detector>>, StartError> {
    let Some(tagger) = &settings.tagger else {
        return Ok(Vec::new());
    };
    let unusable = |reason: String| StartError::Model {
        folder: tagger.folder.clone(),
        reason,
    };
    let named = tagger.labels.iter().filter_map(|(label, pattern)| {
        let pattern = pattern.parse().ok()?;
        Some((label.clone(), pattern))
    });
    let named: Vec<_> = named.collect();
    let parts = folder::parts(&tagger.folder).map_err(unusable)?;
    let tagger = crate::detect::onnx::Tagger::new(parts, &named, tagger.max_windows);
    Ok(tagger.map_err(unusable)?.detectors())
}

#[cfg(feature = "onnx")]
mod folder {
    use crate::detect::onnx::Parts;
    use std::fs;
    use std::path::Path;

    /// The largest file that is read, in bytes: what a model may take of memory, and no device.
    const LARGEST: u64 = 2 << 30;

    /// The contents of a model's folder.
    pub(super) fn parts(folder: &Path) -> Result<Parts, String> {
        let tokenizer = match folder.join("tokenizer.json").exists() {
            true => "tokenizer.json",
            false => "vocab.txt",
        };
        Ok(Parts {
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

#[cfg(all(test, feature = "onnx"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::settings::TaggerSettings;
    use crate::detect::onnx::made;
    use std::path::Path;

    fn settings(folder: &Path) -> DetectSettings {
        DetectSettings {
            tagger: Some(TaggerSettings {
                folder: folder.to_owned(),
                labels: vec![("PER".to_owned(), "NAME".to_owned())],
                max_windows: 4,
            }),
        }
    }

    #[test]
    fn a_folder_becomes_detectors_and_one_without_a_file_stops_the_start() {
        let folder = std::env::temp_dir().join(format!("monitor-model-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let parts = made::parts(false);
        std::fs::write(folder.join("model.onnx"), parts.model).unwrap();
        std::fs::write(folder.join("vocab.txt"), parts.vocabulary).unwrap();
        let missing = detectors(&settings(&folder)).err().unwrap().to_string();
        std::fs::write(folder.join("config.json"), parts.config).unwrap();
        let made = detectors(&settings(&folder)).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(missing.contains("config.json: No such file"), "{missing}");
        let names: Vec<_> = made.iter().map(|one| one.name().as_str()).collect();
        assert_eq!(names, ["NAME"]);
    }
}
