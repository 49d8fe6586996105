import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { REST_REVISIONS } from '../../core/rest-revisions.ts';

/**
 * The API reference: Swagger UI with the OpenAPI description. Loaded at the first request. Its links are relative, so that
 * it works under any public URL, including one with a path.
 */
export interface ApiReference {
  html: string;
  assets: ReadonlyMap<string, ReferenceAsset>;
}

export interface ReferenceAsset {
  contentType: string;
  body: Buffer;
  gzipped: Buffer;
  /** Hash of the content: a URL that carries it may be cached forever. */
  hash: string;
}

/**
 * Areas are closed at first: with more than about 120 operations Swagger UI does not show all that are open.
 * "Try it out" sends requests to the page's own origin: the browser would block any other. The key stays in the page's
 * memory.
 */
const START = `
const version = new URLSearchParams(location.search).get('version');
const link = version && document.querySelector('nav a[href="?version=' + CSS.escape(version) + '"]');
link?.setAttribute('aria-current', 'page');
const path = link ? link.dataset.path : 'v2';
const description = await (await fetch(new URL('../' + path + '/openapi.json', document.baseURI))).json();
const base = '../' + path.slice(0, -2);
description.servers = [{ url: new URL(base, document.baseURI).href.replace(/[/]$/, '') }];
SwaggerUIBundle({
  spec: description,
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const LIBRARY = createRequire(import.meta.url);
const ownFile = (text: string) => async () => Buffer.from(text);
const libraryFile = (name: string) => () => readFile(LIBRARY.resolve(`swagger-ui-dist/${name}`));

const SOURCES: Record<string, { contentType: string; read: () => Promise<Buffer> }> = {
  'swagger-ui.css': { contentType: 'text/css; charset=utf-8', read: libraryFile('swagger-ui.css') },
  'swagger-ui-bundle.js': { contentType: 'text/javascript; charset=utf-8', read: libraryFile('swagger-ui-bundle.js') },
  'start.js': { contentType: 'text/javascript; charset=utf-8', read: ownFile(START) },
};

/** Links to the descriptions; without one of them, that of plain `/v2` is shown. */
const REVISION_LINKS = REST_REVISIONS.map(
  (name) => `<a href="?version=${name}" data-path="${name}/v2">REST v2, revision ${name}</a>`,
).join(' · ');
/** Shown by a server that serves REST v1. */
export const V1_LINK = '<span hidden> · <a href="?version=v1" data-path="v1">REST v1</a></span>';

let loading: Promise<ApiReference> | undefined;

/** Reads and compresses the files at the first call. About half a megabyte each, plain and compressed, stays in memory. */
export function loadApiReference(): Promise<ApiReference> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(): Promise<ApiReference> {
  const assets = new Map(
    await Promise.all(
      Object.entries(SOURCES).map(async ([name, { contentType, read }]) => {
        const body = await read();
        const hash = createHash('sha256').update(body).digest('base64url').slice(0, 16);
        return [name, { contentType, body, gzipped: await promisify(gzip)(body), hash }] as const;
      }),
    ),
  );
  const address = (name: string) => `api/assets/${name}?v=${assets.get(name)!.hash}`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Podyard API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${address('swagger-ui.css')}">
</head>
<body>
<nav>${REVISION_LINKS}${V1_LINK}</nav>
<div id="reference"></div>
<noscript>This page needs JavaScript. The OpenAPI description is at <a href="../v2/openapi.json">v2/openapi.json</a>; <a href="../2026-08/v2/openapi.json">2026-08/v2/openapi.json</a> is that of revision 2026-08.</noscript>
<script src="${address('swagger-ui-bundle.js')}"></script>
<script type="module" src="${address('start.js')}"></script>
</body>
</html>
`;
  return { html, assets };
}
