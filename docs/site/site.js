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
  pages.scrollTop = pages.querySelector('[aria-current]').offsetTop - pages.offsetTop - pages.clientHeight / 3;
  for (const block of document.querySelectorAll('.code:not(.output)')) addCopyButton(block);
  startSearch(document.querySelector('.search input'), document.querySelector('.search ul'));
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

/** Lists sections that contain every word, matches in headings first. Loads the index when it is first needed. */
function startSearch(input, list) {
  let index;
  const load = () => {
    index ??= fetch(input.dataset.index).then((answer) => answer.json());
    return index;
  };
  input.addEventListener('focus', load, { once: true });
  input.addEventListener('input', async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const sections = words.length === 0 ? [] : await load();
    const found = sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, 12);
    list.replaceChildren(...found.map(({ section }) => resultOf(section)));
    if (words.length > 0 && found.length === 0) list.append(textItem(`No results for “${input.value}”.`));
  });
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape') list.replaceChildren();
    if (event.key === '/' && !/^(input|textarea)$/i.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
}

function scoreOf({ page, heading, text }, words) {
  let score = 0;
  for (const word of words) {
    const inHeading = `${page} ${heading}`.toLowerCase().includes(word);
    if (!inHeading && !text.toLowerCase().includes(word)) return 0;
    score += inHeading ? 10 : 1;
  }
  return score;
}

function resultOf({ href, page, heading }) {
  const item = textItem('');
  const link = document.createElement('a');
  link.href = href;
  link.textContent = heading || page;
  if (heading) {
    const where = document.createElement('small');
    where.textContent = page;
    link.append(where);
  }
  item.replaceChildren(link);
  return item;
}

function textItem(text) {
  const item = document.createElement('li');
  const span = document.createElement('span');
  span.textContent = text;
  item.append(span);
  return item;
}
