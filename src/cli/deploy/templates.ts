/** The folders that `podyard init` writes: each file's text by its path. `{name}` is the endpoint's name, `{schema}` the URL of the schema. */

const yaml = (lines: string): string => `# yaml-language-server: $schema={schema}
name: {name}
${lines}`;

const CPU = `cpu: [{ id: cpu3c, vcpuCount: 2 }] # or, on GPUs, gpu: { pools: [ADA_24] }
workers: { min: 0, max: 3 }
`;

const IGNORED = `.git
node_modules
__pycache__
.venv
.env
`;

const PYTHON = {
  'handler.py': `def handler(job):
    """Gets a job, and returns its output."""
    name = job["input"].get("name", "world")
    return {"greeting": f"Hello, {name}!"}
`,
  'requirements.txt': '# One package a line, such as numpy==2.3.0\n',
  'podyard.yaml': yaml(CPU),
  '.dockerignore': IGNORED,
};

const JAVASCRIPT = {
  'handler.js': `/** Gets a job, and returns its output. */
export default async function handler(job) {
  const { name = 'world' } = job.input;
  return { greeting: \`Hello, \${name}!\` };
}
`,
  'package.json': `${JSON.stringify({ name: '{name}', private: true, type: 'module' }, null, 2)}\n`,
  'podyard.yaml': yaml(CPU),
  '.dockerignore': IGNORED,
};

const HTTP = {
  'server.js': `import { createServer } from 'node:http';

const { PORT = '80' } = process.env;
const server = createServer((request, response) => {
  if (request.url === '/ping') return response.end(); // says that this worker is ready
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ greeting: 'Hello, world!', path: request.url }));
});
server.listen(Number(PORT), '0.0.0.0');
process.on('SIGTERM', () => server.close());
`,
  'package.json': `${JSON.stringify({ name: '{name}', private: true, type: 'module', scripts: { start: 'node server.js' } }, null, 2)}\n`,
  'podyard.yaml': yaml(`type: LOAD_BALANCING
scaling: { type: REQUEST_COUNT, value: 20 }
${CPU}`),
  '.dockerignore': IGNORED,
};

const DOCKERFILE = {
  Dockerfile: `FROM node:24-slim
WORKDIR /app
COPY . .
USER node
CMD ["node", "worker.mjs"]
`,
  'worker.mjs': `import { start } from './podyard-worker.mjs';

await start({
  async handler(job) {
    const { name = 'world' } = job.input;
    return { greeting: \`Hello, \${name}!\` };
  },
});
`,
  'podyard.yaml': yaml(CPU),
  '.dockerignore': IGNORED,
};

export const TEMPLATES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  python: PYTHON,
  javascript: JAVASCRIPT,
  http: HTTP,
  dockerfile: DOCKERFILE,
};
