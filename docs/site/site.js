/**
 * Adds the colour scheme switch, the menu of narrow windows, copy buttons and search to the documentation's pages. Loaded
 * before the page is drawn, so that the colour scheme does not flash. The pages are readable without it.
 */
const root = document.documentElement;
root.classList.add('has-script');
root.dataset.theme = localStorage.getItem('podyard-docs-theme') ?? '';

addEventListener('DOMContentLoaded', () => {
  document.querySelector('.theme').addEventListener('click', changeTheme);
  const menu = document.querySelector('.menu-button');
  menu.addEventListener('click', () => {
    const isOpen = document.querySelector('nav.pages').classList.toggle('is-open');
    menu.setAttribute('aria-expanded', String(isOpen));
  });
  const pages = document.querySelector('nav.pages');
  const current = pages.querySelector('[aria-current]');
  if (current) pages.scrollTop = current.offsetTop - pages.offsetTop - pages.clientHeight / 3;
  for (const block of document.querySelectorAll('.code:not(.output)')) addCopyButton(block);
  const input = document.querySelector('.search input');
  const find = searchOf(input);
  startSearch(input, document.querySelector('.search ul'), find);
  const nearest = document.querySelector('.nearest');
  if (nearest) showNearest(nearest, input, find);
});

function changeTheme() {
  const isDark = root.dataset.theme
    ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
  localStorage.setItem('podyard-docs-theme', root.dataset.theme);
}

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  block.append(button);
}

/** Returns a function that finds the sections for a question. It loads what it needs when it is first called. */
function searchOf(input) {
  let loading;
  const load = () => {
    loading ??= Promise.all([
      import(new URL(input.dataset.search, document.baseURI)),
      fetch(input.dataset.index).then((answer) => answer.json()),
    ]);
    return loading;
  };
  input.addEventListener('focus', load, { once: true });
  return async (question) => {
    const [{ search }, index] = await load();
    return search(index, question);
  };
}

function startSearch(input, list, find) {
  const show = async () => {
    const question = input.value;
    const found = question.trim() === '' ? [] : await find(question);
    if (question !== input.value) return;
    list.replaceChildren(...found.map(resultOf));
    if (question.trim() !== '' && found.length === 0) list.append(noResult(question));
  };
  input.addEventListener('input', show);
  input.addEventListener('focus', show);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') list.querySelector('a')?.click();
    if (event.key === 'ArrowDown') moveFocus(event, list.querySelector('a'));
  });
  list.addEventListener('keydown', (event) => {
    const item = event.target.closest('li');
    if (event.key === 'ArrowDown') moveFocus(event, item.nextElementSibling?.querySelector('a'));
    if (event.key === 'ArrowUp') moveFocus(event, item.previousElementSibling?.querySelector('a') ?? input);
  });
  addEventListener('click', (event) => {
    if (!event.target.closest('.search')) list.replaceChildren();
  });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') list.replaceChildren();
    if (event.key === '/' && !/^(input|textarea)$/i.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
}

function moveFocus(event, target) {
  event.preventDefault();
  target?.focus();
}

/** Of a page that does not exist: puts the words of its address in the search, and lists what they find. */
async function showNearest(nearest, input, find) {
  const words = decodeURIComponent(location.pathname.split('/').at(-1))
    .replace(/[-_.+]+/g, ' ')
    .trim();
  input.value = words;
  const found = await find(words);
  nearest.querySelector('ul').replaceChildren(...found.slice(0, 6).map(resultOf));
  nearest.hidden = found.length === 0;
}

function resultOf({ href, page, heading, lead }) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = href;
  link.textContent = heading || page;
  link.append(smallOf(heading ? page : '', 'where'), smallOf(lead, 'lead'));
  item.append(link);
  return item;
}

function smallOf(text, name) {
  if (text === '') return '';
  const small = document.createElement('small');
  small.className = name;
  small.textContent = text;
  return small;
}

function noResult(question) {
  const item = document.createElement('li');
  const span = document.createElement('span');
  span.textContent = `No results for “${question}”.`;
  item.append(span);
  return item;
}
