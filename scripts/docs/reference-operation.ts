/** Shows an operation of the API, and a record that operations return. */
import { escapeHtml } from './html.ts';
import { fieldsOf, type Schema, textOf, typeOf } from './reference-fields.ts';

/** The part of an OpenAPI description that the pages show. */
export interface Description {
  tags: { name: string; description?: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
}

interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, Answer>;
  security?: unknown[];
}

interface Parameter {
  in: 'path' | 'query' | 'header';
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Answer {
  $ref?: string;
  description?: string;
  content?: Content;
}

type Content = Record<string, { schema: Schema; example?: unknown }>;

/** An operation with what its place in the description says. */
export interface Call extends Operation {
  method: string;
  path: string;
  title: string;
}

/** Returns the schema that a reference names; any other as it is. */
export function resolve(schemas: Record<string, Schema>, schema: Schema): Schema {
  return schema.$ref ? schemas[schema.$ref.split('/').at(-1)!]! : schema;
}

/** Returns what is sent, in the first of its types. */
export const bodyOf = ({ requestBody }: Operation) => requestBody && Object.values(requestBody.content)[0];

/** Returns an operation with what it takes and answers, a command that calls it, and the form that sends it. */
export function callHtml(call: Call, description: Description, linkOf: (name: string) => string): string {
  const { schemas } = description.components;
  const sent = bodyOf(call);
  const body = sent && resolve(schemas, sent.schema);
  const isJson = call.requestBody?.content['application/json'] !== undefined;
  const example = isJson ? body?.examples?.[0] : undefined;
  const parameters = call.parameters ?? [];
  const listOf = (title: string, some: readonly Parameter[]) => {
    if (some.length === 0) return '';
    const fields: Schema = {
      properties: Object.fromEntries(
        some.map(({ name, schema, description = '' }) => [name, { ...schema, description }]),
      ),
      required: some.filter(({ required }) => required).map(({ name }) => name),
    };
    return `<h3>${title}</h3>${fieldsOf(fields, linkOf)}`;
  };
  const tried = JSON.stringify({
    method: call.method,
    path: call.path,
    query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
    body: isJson ? JSON.stringify(example ?? {}, null, 2) : null,
  });
  return `<section class="operation">
<h2 id="${call.operationId}">${escapeHtml(call.title)}<a class="anchor" href="#${call.operationId}" aria-label="Link to “${escapeHtml(call.title)}”">#</a></h2>
<p class="call">${methodOf(call)} <code>${escapeHtml(call.path).replaceAll('/', '<wbr>/')}</code></p>
${call.description ? `<p>${textOf(call.description)}</p>` : ''}
${listOf(
  'In the path',
  parameters.filter((parameter) => parameter.in === 'path'),
)}
${listOf(
  'In the query',
  parameters.filter((parameter) => parameter.in === 'query'),
)}
${listOf(
  'Headers',
  parameters.filter((parameter) => parameter.in === 'header'),
)}
${body ? `<h3>Body</h3>${isJson ? '' : `<p>${Object.keys(call.requestBody!.content).join(' or ')}</p>`}${fieldsOf(body, linkOf)}` : ''}
<h3>Answers</h3>
${answersHtml(call, linkOf)}
<figure class="code"><pre tabindex="0"><code>${escapeHtml(curlOf(call, example))}
</code></pre></figure>
${call.responses['200'] && isStream(call.responses['200']) ? '' : `<details class="try needs-script" data-call="${escapeHtml(tried)}"><summary>Try it</summary></details>`}
</section>`;
}

const isStream = ({ content }: Answer) => content?.['text/event-stream'] !== undefined;

function answersHtml(call: Call, linkOf: (name: string) => string): string {
  const entries = Object.entries(call.responses);
  const good = entries
    .filter(([status]) => status < '4')
    .map(([status, { description, content }]) => {
      const [type, media] = Object.entries(content ?? {})[0] ?? [];
      const what = type === 'application/json' ? typeOf(media!.schema, linkOf) : (type ?? '');
      const about = description === 'Default Response' ? '' : textOf(description ?? '');
      return `<li><code>${status}</code> <span>${what}</span>${about ? ` <p>${about}</p>` : ''}</li>`;
    });
  const bad = entries
    .filter(([status]) => status >= '4' && status !== 'default')
    .map(([status]) => `<code>${status}</code>`);
  const refused = bad.length === 0 ? '' : `<li>${bad.join(' ')} <a href="./interface-rest#errors">an error</a></li>`;
  return `<ul class="fields">${good.join('')}${refused}</ul>`;
}

/** Returns a named schema with its fields and an example. */
export function recordHtml(name: string, schema: Schema, linkOf: (name: string) => string): string {
  const example = schema.examples?.[0];
  const shown =
    example === undefined
      ? ''
      : `<details class="example"><summary>Example of ${name}</summary><figure class="code"><pre tabindex="0"><code>${escapeHtml(JSON.stringify(example, null, 2))}
</code></pre></figure></details>`;
  return `<section class="record"><h2 id="${name}">${name}<a class="anchor" href="#${name}" aria-label="Link to “${name}”">#</a></h2>
${fieldsOf(schema, linkOf)}
${shown}</section>`;
}

/** Returns the method as a mark beside the path. */
export function methodOf({ method }: Call): string {
  return `<code class="method ${method.toLowerCase()}">${method}</code>`;
}

function curlOf(call: Call, example: unknown): string {
  const method = call.method === 'GET' ? '' : ` -X ${call.method}`;
  const lines = [`curl${method} "$PODYARD_URL${call.path.replace(/\{(\w+)\}/g, '<$1>')}"`];
  if (call.security?.length !== 0) lines.push(`-H "Authorization: Bearer $PODYARD_API_KEY"`);
  if (example !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(example).replaceAll("'", `'\\''`)}'`);
  }
  return lines.join(' \\\n  ');
}
