/**
 * "Try it" of the API reference: sends a request to the server that shows the page. The key stays in the page's memory and is
 * shared by all its forms.
 */
let key = '';

for (const place of document.querySelectorAll('details.try')) {
  place.addEventListener('toggle', () => fill(place), { once: true });
}

function fill(place) {
  const { method, path, query, body } = JSON.parse(place.dataset.call);
  const form = document.createElement('form');
  const keyField = field(form, 'API key', 'password');
  keyField.value = key;
  keyField.autocomplete = 'off';
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, field(form, name, 'text')]);
  const inQuery = query.map((name) => [name, field(form, name, 'text')]);
  const text = body === null ? null : field(form, 'Body', 'textarea');
  if (text) text.value = body;
  const button = document.createElement('button');
  button.textContent = `Send ${method}`;
  const output = document.createElement('pre');
  output.tabIndex = 0;
  output.setAttribute('role', 'status');
  output.setAttribute('aria-label', 'Answer');
  form.append(button, output);
  place.append(form);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    key = keyField.value.trim();
    const filled = inPath.reduce((url, [name, { value }]) => url.replace(`{${name}}`, encodeURIComponent(value)), path);
    const url = new URL(`..${filled}`, document.baseURI);
    for (const [name, { value }] of inQuery) if (value !== '') url.searchParams.set(name, value);
    output.textContent = 'Sending …';
    output.textContent = await send(url, method, text?.value).catch((error) => String(error));
  });
}

async function send(url, method, body) {
  const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const startedAt = performance.now();
  const answer = await fetch(url, { method, headers, body, credentials: 'omit', redirect: 'manual' });
  const text = await answer.text();
  const took = Math.round(performance.now() - startedAt);
  return `${answer.status} ${answer.statusText} in ${took} ms\n\n${indent(text)}`;
}

function indent(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function field(form, name, type) {
  const label = document.createElement('label');
  const input = document.createElement(type === 'textarea' ? 'textarea' : 'input');
  if (type !== 'textarea') input.type = type;
  else input.rows = 8;
  input.spellcheck = false;
  label.append(name, input);
  form.append(label);
  return input;
}
