/**
 * The API reference: pages made of the OpenAPI descriptions in api/, like all other pages of the site. Each area of the API has one.
 * Its operations come first, then the records that they return.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeHtml } from './html.ts';
import { DOCS, type Heading, type Page, type Section } from './pages.ts';
import { textOf } from './reference-fields.ts';
import { bodyOf, type Call, callHtml, type Description, methodOf, recordHtml, resolve } from './reference-operation.ts';

interface Edition {
  slug: string;
  file: string;
  title: string;
  /** Its name in the menu. */
  name: string;
  /** Before the paths of the description. */
  prefix: string;
  /** Whether search finds it beside the guide: operations of one edition are enough. */
  isSearched: boolean;
  about: string;
}

const EDITIONS: readonly Edition[] = [
  {
    slug: 'api',
    file: 'openapi.json',
    title: 'API reference',
    name: 'REST v2',
    prefix: '',
    isSearched: true,
    about: 'REST v2, as plain <code>/v2</code> answers: revision 2026-07.',
  },
  {
    slug: 'api-2026-08',
    file: 'openapi-2026-08.json',
    title: 'API reference, revision 2026-08',
    name: 'REST v2, revision 2026-08',
    prefix: '/2026-08',
    isSearched: false,
    about:
      'REST v2, revision 2026-08: below <code>/2026-08/v2</code>, or with the header <code>podyard-revision: 2026-08</code>.',
  },
  {
    slug: 'api-v1',
    file: 'openapi-v1.json',
    title: 'API reference, REST v1',
    name: 'REST v1',
    prefix: '',
    isSearched: false,
    about:
      'The first version of REST, for clients that still send it. Only a server with <code>--rest-v1</code> answers it.',
  },
];

/** Beside a guide's sections: an operation is found by its name, and comes after the page that explains it. */
const WORTH = 0.55;
/** Areas whose path does not name them well. */
const TITLES: Record<string, string> = {
  account: 'Account',
  audit: 'Audit log',
  budgets: 'Budgets',
  models: 'Models',
  s3: 'S3 keys',
  'api-keys': 'API keys',
  'ssh-keys': 'SSH keys',
  's3-keys': 'S3 keys',
  server: 'Server',
};

/** Returns the pages of all editions. */
export function referencePages(): Page[] {
  return EDITIONS.flatMap(pagesOf);
}

/** Returns the links of the menu that leads through the edition of a page. */
export function referenceMenuOf(current: Page, pages: readonly Page[]): { title: string; pages: Page[] }[] {
  const edition = editionOf(current.slug);
  const own = pages.filter(({ part, slug }) => part === 'reference' && editionOf(slug) === edition);
  const firsts = EDITIONS.map(({ slug }) => pages.find((page) => page.slug === slug)!);
  return [
    { title: 'Versions', pages: firsts },
    { title: 'Areas', pages: own.filter((page) => !firsts.includes(page)) },
  ];
}

function editionOf(slug: string): Edition {
  return EDITIONS.findLast((edition) => `${slug}-`.startsWith(`${edition.slug}-`))!;
}

function pagesOf(edition: Edition): Page[] {
  const description: Description = JSON.parse(readFileSync(join(DOCS, '../api', edition.file), 'utf8'));
  const areas = new Map<string, Call[]>();
  for (const call of callsOf(description, edition.prefix)) {
    const area = areaOf(call.path);
    areas.set(area, [...(areas.get(area) ?? []), call]);
  }
  const sorted = [...areas].sort(([a], [b]) => Number(a === 'server') - Number(b === 'server'));
  const inner = sorted.map(([area, calls]) => areaPage(edition, description, area, calls));
  return [firstPage(edition, description, new Map(sorted)), ...inner];
}

function callsOf({ paths }: Description, prefix: string): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path: `${prefix}${path}`,
      title: operation.summary ?? sentenceOf(operation.operationId),
    })),
  );
}

/** `UpdatePodById` is “Update pod by id”. */
function sentenceOf(name: string): string {
  const words = name
    .replaceAll('-', ' ')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase();
  return words[0]!.toUpperCase() + words.slice(1);
}

/** Returns the name of a path's area: its first part behind the version, in the account its second. */
function areaOf(path: string): string {
  const [version, first, second] = path
    .replace(/^\/2026-\d\d/, '')
    .split('/')
    .slice(1);
  if (!/^v\d$/.test(version!)) return 'server';
  if (first === 'account' && second && !['limits', 'live', 'simulation'].includes(second)) return second;
  if (first === 'billing' && second === 'budgets') return second;
  return first!;
}

function firstPage(edition: Edition, description: Description, areas: ReadonlyMap<string, Call[]>): Page {
  const headings: Heading[] = [{ level: 1, text: edition.title, id: edition.slug }];
  const lists = [...areas].map(([area, calls]) => {
    const title = titleOf(area);
    headings.push({ level: 3, text: title, id: area });
    const items = calls.map((call) => {
      const place = `./${edition.slug}-${area}#${call.operationId}`;
      return `<li>${methodOf(call)} <a href="${place}">${escapeHtml(call.title)}</a> <code>${escapeHtml(call.path)}</code></li>`;
    });
    const about = description.tags.find(({ name }) => name === area)?.description;
    return `<h2 id="${area}"><a href="./${edition.slug}-${area}">${title}</a></h2>${about ? `<p>${textOf(about)}</p>` : ''}<ul class="operations">${items.join('\n')}</ul>`;
  });
  const firstCall = [...areas.values()].flat().find(({ path, method }) => method === 'GET' && !path.includes('{'))!;
  const others = EDITIONS.filter((other) => other !== edition).map(
    ({ slug, name }) => `<a href="./${slug}">${name}</a>`,
  );
  const html = `<h1 id="${edition.slug}">${edition.title}</h1>
<p>${edition.about} Others: ${others.join(', ')}.</p>
<figure class="code"><pre tabindex="0"><code>curl "$PODYARD_URL${firstCall.path}" -H "Authorization: Bearer $PODYARD_API_KEY"
</code></pre></figure>
<p>Every request needs an API key, unless it says otherwise. <a href="./interface-rest#errors">Errors</a>, <a href="./interface-rest#rate-limits">rate limits</a> and what a
<a href="./interface-rest#partial-updates">partial update</a> does are the same for all. Jobs are sent over the <a href="./interface-queue">queue API</a>.
Programs read the description at <a href="..${firstCall.path.replace(/[^/]*$/, '')}openapi.json">openapi.json</a>.</p>
${lists.join('\n')}`;
  const text = `${edition.about} OpenAPI`;
  const sections = edition.isSearched ? [sectionOf(`./${edition.slug}`, edition.title, '', text)] : [];
  return {
    file: '',
    slug: edition.slug,
    part: 'reference',
    title: edition.title,
    menuTitle: edition.name,
    markdown: '',
    headings,
    html,
    sections,
  };
}

function titleOf(area: string): string {
  return TITLES[area] ?? sentenceOf(area);
}

function areaPage(edition: Edition, description: Description, area: string, calls: readonly Call[]): Page {
  const slug = `${edition.slug}-${area}`;
  const title = titleOf(area);
  const records = recordsOf(description, calls);
  const linkOf = (name: string) => (records.includes(name) ? `#${name}` : `./${edition.slug}`);
  const headings: Heading[] = [
    { level: 1, text: title, id: slug },
    ...calls.map((call) => ({ level: 2, text: call.title, id: call.operationId })),
    ...records.map((name) => ({ level: 3, text: name, id: name })),
  ];
  const html = `<h1 id="${slug}">${title}</h1>
<p><a href="./${edition.slug}">${edition.title}</a></p>
${calls.map((call) => callHtml(call, description, linkOf)).join('\n')}
${records.map((name) => recordHtml(name, description.components.schemas[name]!, linkOf)).join('\n')}`;
  const sections = !edition.isSearched
    ? []
    : calls.map((call) =>
        sectionOf(
          `./${slug}#${call.operationId}`,
          `API: ${title}`,
          call.title,
          call.description ?? '',
          `${call.operationId} ${call.method} ${call.path}`,
        ),
      );
  return {
    file: '',
    slug,
    part: 'reference',
    title: `${title}, ${edition.title}`,
    menuTitle: title,
    markdown: '',
    headings,
    html,
    sections,
  };
}

function sectionOf(href: string, page: string, heading: string, text: string, alsoCalled = ''): Section {
  return { href, page, heading, text, prose: text, alsoCalled, worth: WORTH };
}

/** Returns the names of the schemas that successful answers have, with those that they refer to. */
function recordsOf({ components }: Description, calls: readonly Call[]): string[] {
  const names = new Set<string>();
  const add = (part: unknown) => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name!)) continue;
      names.add(name!);
      add({ ...components.schemas[name!], examples: [] });
    }
  };
  for (const call of calls) {
    add(Object.entries(call.responses).filter(([status]) => status.startsWith('2')));
    const body = bodyOf(call)?.schema;
    if (body) add(resolve(components.schemas, body));
  }
  return [...names];
}
