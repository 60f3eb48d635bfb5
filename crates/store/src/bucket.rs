//! Files in a bucket of an S3-compatible store, over the crate `object_store`: opening it, and bringing
//! a file there. How its calls travel is `bucket_client`; what is kept under which key is `blobs`.

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

/// Bytes that travel in one call; a larger file goes in several, whose least size the store sets.
const PART: usize = 8 * 1024 * 1024;
/// Calls of one file that are under way at once.
const PARTS: usize = 1;
/// A call is tried again so often, and for so long.
const RETRIES: usize = 3;
const RETRY_FOR: Duration = Duration::from_secs(20);

/// A bucket by its name and a prefix of all keys, as the environment says it is reached.
pub(super) fn open(
    (name, prefix): (&str, &str),
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_FOR,
        ..RetryConfig::default()
    };
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(name)
        .with_retry(retry)
        .with_http_connector(Connector)
        // One by one, which every such store knows.
        .with_disable_bulk_delete(true)
        .build()?;
    Ok(match prefix {
        "" => Arc::new(store),
        prefix => Arc::new(PrefixStore::new(store, Key::from(prefix))),
    })
}

/// Brings a file of this size there, unless it is there. There is all of it or nothing.
pub(super) async fn put(
    bucket: &dyn ObjectStore,
    (key, size): (&Key, u64),
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
            // Its parts are the store's to remove, by a rule of the bucket.
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
