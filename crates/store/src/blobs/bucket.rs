//! A bucket of an S3-compatible store, over the crate `object_store`: opening it and uploading a file. The HTTP
//! client is `bucket_client`; which file is stored under which key is `blobs`.

use super::bucket_client::Connector;
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig, WriteMultipart};
use std::sync::Arc;
use std::time::Duration;

/// Bytes in one request; a larger file takes several, whose minimum size S3 prescribes.
const PART: usize = 8 * 1024 * 1024;
/// Concurrent requests for one file.
const PARTS: usize = 1;
/// How often a request is retried, and for how long.
const RETRIES: usize = 3;
const RETRY_FOR: Duration = Duration::from_secs(20);

/// Opens a bucket by its name and a prefix of all keys, with endpoint and credentials from the environment.
pub(super) fn open(name: &str, prefix: &str) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_FOR,
        ..RetryConfig::default()
    };
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(name)
        .with_retry(retry)
        .with_http_connector(Connector)
        // Deleting one by one works with every S3-compatible store.
        .with_disable_bulk_delete(true)
        .build()?;
    Ok(match prefix {
        "" => Arc::new(store),
        prefix => Arc::new(PrefixStore::new(store, Key::from(prefix))),
    })
}

/// Uploads a file of this size, unless it is there. A reader sees all of it or nothing.
pub(super) async fn put(
    bucket: &dyn ObjectStore,
    key: &Key,
    size: u64,
    coming: BoxStream<'static, Result<Bytes, object_store::Error>>,
) -> Result<(), object_store::Error> {
    match bucket.head(key).await {
        Ok(found) if found.size == size => return Ok(()),
        Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    if size <= PART as u64 {
        let parts: Vec<Bytes> = coming.try_collect().await?;
        let payload: PutPayload = parts.into_iter().collect();
        return bucket.put(key, payload).await.map(drop);
    }
    let upload = bucket.put_multipart(key).await?;
    let mut writing = WriteMultipart::new_with_chunk_size(upload, PART);
    match write(&mut writing, coming).await {
        Ok(()) => writing.finish().await.map(drop),
        Err(error) => {
            // A lifecycle rule of the bucket removes parts that remain.
            let _ = writing.abort().await;
            Err(error)
        }
    }
}

async fn write(
    writing: &mut WriteMultipart,
    mut coming: BoxStream<'static, Result<Bytes, object_store::Error>>,
) -> Result<(), object_store::Error> {
    while let Some(bytes) = coming.try_next().await? {
        writing.wait_for_capacity(PARTS).await?;
        writing.write(&bytes);
    }
    Ok(())
}
