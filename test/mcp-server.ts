import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The result of a tool. */
export interface ToolResult {
  isError: boolean;
  text: string;
  /** The text as JSON; undefined if it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: any JSON that a tool returns
  body: any;
}

interface Message {
  id?: number;
  // biome-ignore lint/suspicious/noExplicitAny: of any method
  result?: any;
  error?: { message: string };
}

/** The public MCP server of an installed package, over stdio, as the programs that start it speak to it. */
export class McpServer {
  readonly tools: string[] = [];
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, (message: Message) => void>();
  #lastId = 0;

  /** Starts the server, and lists its tools. */
  static async start(packageName: string, env: Record<string, string>): Promise<McpServer> {
    const server = new McpServer(programOf(packageName), env);
    await server.#request('initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    server.#send({ method: 'notifications/initialized' });
    const { tools } = await server.#request('tools/list', {});
    server.tools.push(...tools.map(({ name }: { name: string }) => name));
    return server;
  }

  private constructor(file: string, env: Record<string, string>) {
    const { PATH = '' } = process.env;
    this.#process = spawn(process.execPath, [file], { env: { PATH, ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: this.#process.stdout! }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      if (message.id !== undefined) this.#pending.get(message.id)?.(message);
    });
  }

  async call(tool: string, args: object): Promise<ToolResult> {
    const { content, isError } = await this.#request('tools/call', { name: tool, arguments: args });
    const text = content.map((part: { text?: string }) => part.text ?? '').join('');
    return { isError: isError === true, text, body: parse(text) };
  }

  close(): void {
    this.#process.kill();
  }

  async #request(method: string, params: object): Promise<Message['result']> {
    const id = ++this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Message>();
    this.#pending.set(id, resolve);
    this.#send({ id, method, params });
    const { result, error } = await promise;
    this.#pending.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  #send(message: object): void {
    this.#process.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

function programOf(packageName: string): string {
  return fileURLToPath(new URL(`../node_modules/${packageName}/dist/stdio.mjs`, import.meta.url));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
