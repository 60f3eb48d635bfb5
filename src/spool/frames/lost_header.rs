//! A file of frames both copies of whose header are lost: more of it is gone than any one sector. Its frames tell how
//! to read it, as far as one of them is certain: a text may hold whole frames with a marker of its own.

use super::format::{FRAME_HEADER, FrameHeader, HEADER, Marker};
use super::reader::{Format, FrameReader, MAX_CHECKED};
use super::window::WINDOW;
use std::io;

impl FrameReader {
    /// The format of the file by its frames; None if none of them is certain.
    pub(super) fn detect_by_frames(&mut self, end: u64) -> io::Result<Option<Format>> {
        // No text begins where the first frame does.
        let marker = self.header(HEADER, end)?.map(|header| header.marker);
        let marked = marker.map(Format::Marked);
        for format in marked.into_iter().chain([Format::First]) {
            self.format = format;
            if self.frame_at(format.header(), end)?.is_some() {
                return Ok(Some(format));
            }
        }
        if self.origins().is_unknown() {
            return Ok(None);
        }
        if let Some(marker) = self.find_marker(end)? {
            return Ok(Some(Format::Marked(marker)));
        }
        self.format = Format::First;
        let found = self.find_likely(0, end)?;
        Ok(found.map(|_| Format::First))
    }

    /// The marker of the first whole frame whose record names a gateway of this spool.
    fn find_marker(&mut self, end: u64) -> io::Result<Option<Marker>> {
        let mut budget = MAX_CHECKED * end + WINDOW as u64;
        let mut from = 0;
        while from + FRAME_HEADER as u64 <= end {
            let searched = self.source.bytes(from, WINDOW, end)?;
            let length = searched.len();
            let headers = searched.windows(FRAME_HEADER).enumerate();
            let found: Vec<_> = headers
                .filter_map(|(index, bytes)| Some((index, FrameHeader::parse(bytes)?)))
                .collect();
            for (index, header) in found {
                let Some(left) = budget.checked_sub(header.length.into()) else {
                    return Ok(None);
                };
                budget = left;
                self.format = Format::Marked(header.marker);
                if let Some(frame) = self.frame_at(from + index as u64, end)?
                    && self.origins().include(&frame.content)
                {
                    return Ok(Some(header.marker));
                }
            }
            if length < FRAME_HEADER {
                break;
            }
            from += (length - FRAME_HEADER) as u64 + 1;
        }
        Ok(None)
    }
}
