// Times in the browser's zone, and what the keyboard does. Without scripts, times are in UTC.
(() => {
  'use strict';
  const isUtc = document.documentElement.dataset.clock === 'utc';
  const WRITTEN = /^\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?$/;
  const two = (number) => String(number).padStart(2, '0');

  // The server writes UTC; its title stays, and says so with a Z.
  function localize(time) {
    const written = WRITTEN.exec(time.textContent.trim());
    const at = new Date(time.dateTime);
    if (!written || time.dataset.local || time.closest('[data-utc]') || Number.isNaN(at.getTime())) return;
    time.dataset.local = '1';
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
    const seconds = written[1] ? `:${two(at.getSeconds())}` : '';
    time.textContent = `${day} ${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
  }
  const within = (place) => {
    if (place.matches('time')) localize(place);
    for (const time of place.querySelectorAll('time')) localize(time);
  };
  if (!isUtc) {
    within(document.body);
    // Rows and fragments that arrive later.
    new MutationObserver((changes) => {
      for (const { addedNodes } of changes) {
        for (const node of addedNodes) if (node instanceof Element) within(node);
      }
    }).observe(document.body, { childList: true, subtree: true });
  }
  for (const place of document.querySelectorAll('[data-zone]')) {
    place.textContent = isUtc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
  }

  const palette = document.querySelector('#palette');
  if (!palette) return;
  const field = palette.querySelector('input');
  const list = palette.querySelector('ul');
  const show = (dialog) => {
    if (!document.querySelector('dialog[open]')) dialog.showModal();
  };
  const narrow = () => {
    const part = field.value.trim().toLowerCase();
    for (const item of list.children) item.hidden = !item.textContent.toLowerCase().includes(part);
  };
  const openPalette = () => {
    list.replaceChildren(...[...document.querySelectorAll('.side nav a')].map((link) => {
      const item = document.createElement('li');
      const copy = document.createElement('a');
      copy.href = link.href;
      copy.textContent = link.textContent.trim();
      item.append(copy);
      return item;
    }));
    field.value = '';
    show(palette);
    field.focus();
  };
  field.addEventListener('input', narrow);
  palette.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('li:not([hidden]) a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Enter' && event.target === field && links.length) links[0].click();
    else if (event.key === 'ArrowDown' && at + 1 < links.length) links[at + 1].focus();
    else if (event.key === 'ArrowUp' && at >= 0) (links[at - 1] || field).focus();
    else return;
    event.preventDefault();
  });

  // The first link of the next row, or of the one before.
  const move = (down) => {
    const rows = [...document.querySelectorAll('main tbody tr')];
    const links = rows.map((row) => row.querySelector('a')).filter((link) => link && link.getClientRects().length);
    const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
    const next = at < 0 && !down ? links.length - 1 : at + (down ? 1 : -1);
    if (links[next]) links[next].focus();
  };
  const search = () => {
    const found = document.querySelector('main input[type=search]')
      || document.querySelector('main form[role=search] input:not([type=hidden])');
    if (found) found.focus();
  };
  // Letters go by their place, so that they work in every layout.
  const action = (event) => {
    if (event.key === '/') return search;
    if (event.key === '?') return () => show(document.querySelector('#keys'));
    if (event.code === 'KeyJ' && !event.shiftKey) return () => move(true);
    if (event.code === 'KeyK' && !event.shiftKey) return () => move(false);
    return null;
  };
  document.addEventListener('keydown', (event) => {
    const { target } = event;
    if (event.defaultPrevented || event.altKey) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.code !== 'KeyK' || event.shiftKey) return;
      event.preventDefault();
      openPalette();
      return;
    }
    const isTyping = target instanceof Element && target.closest('input, textarea, select, [contenteditable]');
    const wanted = isTyping || document.querySelector('dialog[open]') ? null : action(event);
    if (!wanted) return;
    event.preventDefault();
    wanted();
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if ('closes' in button.dataset) button.closest('dialog').close();
    if (button.dataset.opens) show(document.querySelector(button.dataset.opens));
    if (button.dataset.copyLink) {
      const done = () => {
        const before = button.textContent;
        button.textContent = button.dataset.copyLink;
        setTimeout(() => { button.textContent = before; }, 1500);
      };
      // Pages over plain HTTP have no clipboard API.
      const ask = () => window.prompt(button.textContent, window.location.href);
      if (navigator.clipboard) navigator.clipboard.writeText(window.location.href).then(done, ask);
      else ask();
    }
  });
})();
