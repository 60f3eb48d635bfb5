// Enhances lists of records: a search that continues by itself, and exports that show their progress. Without
// scripts, a button and a plain link do the same.
(() => {
  'use strict';
  const language = document.documentElement.lang;
  const written = (count) => new Intl.NumberFormat(language).format(count);
  const megabytes = new Intl.NumberFormat(language, {
    style: 'unit', unit: 'megabyte', minimumFractionDigits: 1, maximumFractionDigits: 1,
  });

  // The visible text changes many times a second. Screen readers get it every few seconds and at the end.
  const SPOKEN_EVERY = 5000;
  function teller(place) {
    const shown = place.querySelector('.told');
    const spoken = place.querySelector('[role=status]');
    let last = performance.now();
    return (text, isOver) => {
      shown.textContent = text;
      if (!isOver && performance.now() - last < SPOKEN_EVERY) return;
      last = performance.now();
      spoken.textContent = text;
    };
  }

  // The server searches a limited number of records per request. Older ones are requested until a page is full
  // of matches. The pause after each request is as long as the request took, one second at most.
  for (const place of document.querySelectorAll('[data-seek]')) {
    const body = document.querySelector('#records tbody');
    const stop = place.querySelector('button');
    const tell = teller(place);
    const control = new AbortController();
    const isNewest = !new URLSearchParams(location.search).has('before');
    const goesOn = () => place.dataset.seek !== ''
      && body.rows.length < Number(place.dataset.enough) && !control.signal.aborted;
    const take = (part) => {
      const next = part.querySelector('[data-seek]');
      place.dataset.seek = next.dataset.seek;
      const shown = new Set([...body.rows].map((row) => row.dataset.exchange));
      const rows = [...part.querySelectorAll('#records tbody tr')];
      body.append(...rows.filter((row) => !shown.has(row.dataset.exchange)));
      document.querySelector('#records').hidden = body.rows.length === 0;
      const nothing = document.querySelector('#nothing');
      nothing.textContent = part.querySelector('#nothing').textContent;
      nothing.hidden = body.rows.length > 0;
      const ways = document.querySelector('#ways');
      ways.replaceChildren(...part.querySelector('#ways').childNodes);
      // The rows were added below the newest ones, so this is still the first page.
      if (isNewest) ways.querySelector('[rel=first]')?.remove();
      if (!ways.querySelector('a')) ways.replaceChildren();
      tell(next.querySelector('.told').textContent, !goesOn());
    };
    const look = async () => {
      const begun = performance.now();
      const response = await fetch(place.dataset.seek, {
        headers: { 'X-Fragment': '1' },
        signal: control.signal,
      });
      if (!response.ok || response.redirected) throw new Error(String(response.status));
      const text = await response.text();
      if (control.signal.aborted) return;
      take(new DOMParser().parseFromString(text, 'text/html'));
      const rest = Math.min(performance.now() - begun, 1000);
      await new Promise((done) => { setTimeout(done, rest); });
    };
    const seek = async () => {
      if (!goesOn()) return;
      place.dataset.state = 'going';
      stop.hidden = false;
      try {
        while (goesOn()) await look();
        if (!control.signal.aborted) place.dataset.state = 'over';
      } catch (error) {
        if (error.name === 'AbortError') return;
        place.dataset.state = 'over';
        tell(place.dataset.broke, true);
        place.querySelector('.again').hidden = false;
      } finally {
        stop.hidden = true;
      }
    };
    stop.addEventListener('click', () => {
      control.abort();
      place.dataset.state = 'stopped';
      stop.hidden = true;
      tell(`${place.querySelector('.told').textContent} ${place.dataset.stopped}`, true);
    });
    seek();
  }

  // Counts the records of an export as its bytes arrive: line breaks outside quoted CSV cells.
  function counter(isCsv) {
    let count = isCsv ? -1 : 0;
    let isQuoted = false;
    return (bytes) => {
      for (const byte of bytes) {
        if (isCsv && byte === 34) isQuoted = !isQuoted;
        else if (byte === 10 && !isQuoted) count += 1;
      }
      return Math.max(count, 0);
    };
  }

  // Downloads an export and saves it once it is complete, so that an interrupted one leaves no partial file. The
  // data is collected in large blobs, which the browser may move to disk. An export above the limit of the page
  // is left to the browser, which saves it directly.
  const PIECE = 16 * 1024 * 1024;
  class TooLarge extends Error {}
  async function whole(response, told, [signal, most]) {
    const reader = response.body.getReader();
    signal.addEventListener('abort', () => reader.cancel().catch(() => {}));
    const pieces = [];
    let [chunks, waiting, bytes] = [[], 0, 0];
    const settle = () => {
      pieces.push(new Blob(chunks));
      [chunks, waiting] = [[], 0];
    };
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) break;
      chunks.push(value);
      waiting += value.length;
      bytes += value.length;
      told(value, bytes);
      if (bytes > most) throw new TooLarge();
      if (waiting >= PIECE) settle();
    }
    settle();
    return new Blob(pieces, { type: response.headers.get('content-type') });
  }

  function save(address, name) {
    const link = document.createElement('a');
    link.href = address;
    link.download = name;
    link.click();
  }

  for (const place of document.querySelectorAll('[data-exports]')) {
    const links = place.querySelectorAll('a[download]');
    const progress = place.querySelector('.exporting');
    const cancel = progress.querySelector('button');
    const tell = teller(progress);
    let control = null;
    const stay = (event) => event.preventDefault();
    const run = async (link) => {
      const count = counter(link.download.endsWith('.csv'));
      let records = 0;
      const told = (value, bytes) => {
        records = count(value);
        const size = megabytes.format(bytes / 1e6);
        tell(progress.dataset.going.replace('{}', written(records)).replace('{}', size), false);
      };
      try {
        const headers = { 'X-Fragment': '1' };
        const response = await fetch(link.href, { headers, signal: control.signal });
        if (!response.ok || response.redirected) throw new Error(String(response.status));
        const most = Number(place.dataset.exports);
        const address = URL.createObjectURL(await whole(response, told, [control.signal, most]));
        save(address, link.download);
        setTimeout(() => URL.revokeObjectURL(address), 60000);
        tell(progress.dataset.saved.replace('{}', written(records)), true);
      } catch (error) {
        let why = error instanceof TooLarge ? 'left' : 'broke';
        if (control.signal.aborted) why = 'cancelled';
        control.abort();
        if (why === 'left') save(link.href, link.download);
        tell(progress.dataset[why], true);
        progress.querySelector('.again').hidden = why !== 'broke';
      }
    };
    const begin = async (link) => {
      control = new AbortController();
      progress.hidden = false;
      cancel.hidden = false;
      progress.dataset.state = 'going';
      tell(progress.dataset.begins, true);
      progress.querySelector('.again').hidden = true;
      addEventListener('beforeunload', stay);
      await run(link);
      removeEventListener('beforeunload', stay);
      control = null;
      cancel.hidden = true;
      progress.dataset.state = 'over';
    };
    cancel.addEventListener('click', () => control && control.abort());
    for (const link of links) {
      link.addEventListener('click', (event) => {
        event.preventDefault();
        if (!control) begin(link);
      });
    }
  }
})();
