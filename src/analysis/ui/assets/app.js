// Enhances pages that also work without scripts. It never builds markup from strings: it inserts fragments
// that the server has rendered and escaped.
(() => {
  'use strict';
  const root = document.documentElement;
  root.classList.add('scripts');

  // Posts a form and replaces the content of `place` with the fragment that the server returns. A newer
  // request for the same place aborts the older one.
  const pending = new WeakMap();
  async function ask(form, address, place, extra) {
    const before = pending.get(place);
    if (before) before.abort();
    const control = new AbortController();
    pending.set(place, control);
    place.setAttribute('aria-busy', 'true');
    const fields = new URLSearchParams(new FormData(form));
    for (const [name, value] of extra || []) fields.set(name, value);
    try {
      const response = await fetch(address, {
        method: 'POST',
        body: fields,
        headers: { 'X-Fragment': '1' },
        signal: control.signal,
      });
      const text = await response.text();
      const part = new DOMParser().parseFromString(text, 'text/html');
      place.replaceChildren(...part.body.childNodes);
      place.removeAttribute('aria-busy');
    } catch (error) {
      if (error.name !== 'AbortError') place.removeAttribute('aria-busy');
    }
  }

  // Results that are refreshed while the user types into their form.
  for (const place of document.querySelectorAll('[data-live]')) {
    const form = place.closest('form');
    const names = place.dataset.of.split(' ');
    let timer = 0;
    const due = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const first = form.elements.namedItem(names[0]);
        if (first.value || place.hasChildNodes()) ask(form, place.dataset.live, place);
      }, 250);
    };
    form.addEventListener('input', due);
    form.addEventListener('rows', due);
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.copy) {
      const source = document.querySelector(button.dataset.copy);
      const done = () => {
        button.classList.add('done');
        setTimeout(() => button.classList.remove('done'), 1500);
      };
      // Pages over plain HTTP have no clipboard API: select the text, so that Ctrl+C copies it.
      const mark = () => getSelection().selectAllChildren(source);
      if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, mark);
      else mark();
    }
    if (button.dataset.confirm && !window.confirm(button.dataset.confirm)) event.preventDefault();
    if (button.dataset.into) {
      event.preventDefault();
      const place = document.querySelector(button.dataset.into);
      const extra = button.name ? [[button.name, button.value]] : [];
      ask(button.form, button.getAttribute('formaction'), place, extra);
    }
    if ('addRow' in button.dataset) {
      const rows = button.closest('[data-rows]');
      const all = rows.querySelectorAll('[data-row]');
      const row = all[all.length - 1].cloneNode(true);
      for (const control of row.querySelectorAll('input, textarea')) control.value = '';
      button.before(row);
      row.querySelector('input').focus();
    }
    if ('dropRow' in button.dataset) {
      const row = button.closest('[data-row]');
      const form = button.form;
      if (row.parentElement.querySelectorAll('[data-row]').length > 1) row.remove();
      else for (const control of row.querySelectorAll('input, textarea')) control.value = '';
      form.dispatchEvent(new Event('rows'));
      form.dataset.changed = '1';
    }
  });

  // A slow fragment: fetched after the page has loaded, into space that the page reserves for it.
  for (const place of document.querySelectorAll('[data-load]')) {
    fetch(place.dataset.load, { headers: { 'X-Fragment': '1' } })
      .then((response) => response.text())
      .then((text) => {
        const part = new DOMParser().parseFromString(text, 'text/html');
        place.replaceChildren(...part.body.childNodes);
        place.dataset.loaded = '1';
      })
      .catch(() => {});
  }

  // A slider and a number field with the same value, and the rates measured at the nearest threshold below.
  for (const place of document.querySelectorAll('[data-slider]')) {
    const slider = place.querySelector('input[type=range]');
    const number = place.querySelector('input[type=number]');
    const shown = place.querySelector('[data-rates]');
    const rates = shown ? JSON.parse(shown.dataset.rates) : [];
    const tell = () => {
      if (!rates.length) return;
      const reached = rates.filter((rate) => rate[0] <= Number(slider.value) + 1e-9);
      const [, ordinary, recall] = reached.pop() || rates[0];
      shown.querySelector('[data-ordinary]').textContent = ordinary;
      shown.querySelector('[data-recall]').textContent = recall;
    };
    slider.addEventListener('input', () => { number.value = slider.value; tell(); });
    number.addEventListener('input', () => {
      slider.value = number.value || number.placeholder;
      tell();
    });
  }

  // A select that submits its form on change.
  for (const select of document.querySelectorAll('select[data-submit]')) {
    select.form.classList.add('sends-itself');
    select.addEventListener('change', () => select.form.requestSubmit());
  }

  // Ask before leaving a page with unsaved changes.
  for (const form of document.querySelectorAll('form[data-guard]')) {
    form.addEventListener('input', (event) => {
      if (!(event.target.name || '').startsWith('try.')) form.dataset.changed = '1';
    });
    form.addEventListener('submit', (event) => {
      // What opens in a window of its own leaves the form where it is.
      if (event.submitter?.formTarget !== '_blank') delete form.dataset.changed;
    });
    window.addEventListener('beforeunload', (event) => {
      if (form.dataset.changed) event.preventDefault();
    });
  }

  // Empty filter fields are left out of the URL.
  for (const form of document.querySelectorAll('form[data-skips-empty]')) {
    form.addEventListener('formdata', (event) => {
      for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
    });
  }

  // Autocompletion of application names: the server returns the names that contain the typed text. The focus
  // stays in the field; arrow keys move through the list, Enter selects an entry, Escape closes the list.
  for (const place of document.querySelectorAll('[data-suggests]')) {
    const field = place.querySelector('input');
    const offered = place.querySelector('.offered');
    const status = place.querySelector('[role=status]');
    let timer = 0;
    let control = null;
    let chosen = null;
    field.setAttribute('role', 'combobox');
    field.setAttribute('aria-autocomplete', 'list');
    field.setAttribute('aria-expanded', 'false');
    const show = (nodes) => {
      offered.replaceChildren(...nodes);
      offered.hidden = nodes.length === 0;
      chosen = null;
      const list = offered.querySelector('[role=listbox]');
      field.removeAttribute('aria-activedescendant');
      field.setAttribute('aria-expanded', String(Boolean(list)));
      if (list) field.setAttribute('aria-controls', list.id);
      else field.removeAttribute('aria-controls');
      const message = offered.querySelector('[data-said]');
      status.textContent = message ? message.dataset.said : '';
    };
    const close = () => {
      clearTimeout(timer);
      if (control) control.abort();
      show([]);
    };
    const open = async () => {
      if (control) control.abort();
      control = new AbortController();
      const { signal } = control;
      const query = new URLSearchParams({ part: field.value });
      try {
        const headers = { 'X-Fragment': '1' };
        const response = await fetch(`${place.dataset.suggests}?${query}`, { headers, signal });
        const part = new DOMParser().parseFromString(await response.text(), 'text/html');
        const isShown = response.ok || response.status === 401;
        show(isShown && document.activeElement === field ? [...part.body.childNodes] : []);
      } catch (error) {
        if (!signal.aborted) show([]);
      }
    };
    const point = (option) => {
      if (chosen) chosen.setAttribute('aria-selected', 'false');
      chosen = option;
      chosen.setAttribute('aria-selected', 'true');
      field.setAttribute('aria-activedescendant', chosen.id);
    };
    const take = (option) => {
      field.value = option.dataset.value;
      close();
      field.dispatchEvent(new Event('change', { bubbles: true }));
    };
    const move = (down) => {
      const all = [...offered.querySelectorAll('[role=option]')];
      const at = all.indexOf(chosen);
      if (offered.hidden) open();
      else if (all.length && down) point(all[(at + 1) % all.length]);
      else if (all.length) point(all[(at > 0 ? at : all.length) - 1]);
    };
    field.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(open, 200);
    });
    field.addEventListener('click', () => { if (offered.hidden) open(); });
    field.addEventListener('blur', close);
    field.addEventListener('keydown', (event) => {
      const { key } = event;
      if (key === 'ArrowDown' || key === 'ArrowUp') move(key === 'ArrowDown');
      else if (key === 'Enter' && chosen) take(chosen);
      else if (key === 'Escape' && !offered.hidden) close();
      else return;
      event.preventDefault();
    });
    offered.addEventListener('mousedown', (event) => event.preventDefault());
    offered.addEventListener('click', (event) => {
      const option = event.target.closest('[role=option]');
      if (option) take(option);
    });
  }

  // A page with a revealed original that the browser has kept is shown masked again.
  addEventListener('pageshow', (event) => {
    const revealed = event.persisted && document.querySelector('[data-revealed]');
    if (revealed) location.replace(revealed.dataset.revealed);
  });

  // Live updates: the server streams new rows to the list while the page is visible.
  const MOST_ROWS = 200;
  for (const place of document.querySelectorAll('[data-tail]')) {
    const button = place.querySelector('button');
    const body = document.querySelector('#records tbody');
    let stream = null;
    let after = Number(place.dataset.after);
    let why = '';
    const end = (over) => {
      if (stream) stream.close();
      stream = null;
      place.dataset.state = over ? 'over' : 'paused';
      button.hidden = over;
      for (const problem of place.querySelectorAll('.problem')) {
        problem.hidden = !over || problem.dataset.end !== why;
      }
    };
    const add = (event) => {
      const part = new DOMParser().parseFromString(JSON.parse(event.data), 'text/html');
      const known = new Set([...body.rows].map((row) => row.dataset.record));
      const rows = [...part.querySelectorAll('tr')].filter((row) => !known.has(row.dataset.record));
      for (const row of rows) {
        row.classList.add('fresh');
        after = Math.max(after, Number(row.dataset.seq));
      }
      const newer = new Set(rows.map((row) => row.dataset.exchange));
      for (const row of [...body.rows]) if (newer.has(row.dataset.exchange)) row.remove();
      body.prepend(...rows);
      while (body.rows.length > MOST_ROWS) body.lastElementChild.remove();
      document.querySelector('#records').hidden = body.rows.length === 0;
      document.querySelector('#nothing').hidden = body.rows.length > 0;
    };
    const begin = () => {
      if (stream || place.dataset.state === 'over') return;
      const sign = place.dataset.tail.includes('?') ? '&' : '?';
      stream = new EventSource(`${place.dataset.tail}${sign}after=${after}`);
      stream.addEventListener('open', () => { place.dataset.state = 'going'; });
      stream.addEventListener('rows', add);
      stream.addEventListener('end', (event) => {
        why = event.data;
        end(true);
      });
      stream.addEventListener('error', () => {
        if (stream && stream.readyState === EventSource.CLOSED) end(true);
      });
    };
    const wanted = () => button.getAttribute('aria-pressed') === 'true' && !document.hidden;
    const follow = () => (wanted() ? begin() : end(place.dataset.state === 'over'));
    button.addEventListener('click', () => {
      const goes = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(goes));
      button.querySelector('.word').textContent = goes ? button.dataset.going : button.dataset.paused;
      follow();
    });
    document.addEventListener('visibilitychange', follow);
    addEventListener('pagehide', () => end(place.dataset.state === 'over'));
    addEventListener('pageshow', (event) => { if (event.persisted) follow(); });
    follow();
  }
})();
