import { readEvents } from '../../../api/follow-events.ts';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatCall {
  model: string;
  messages: readonly ChatMessage[];
  /** Null: the model's own. */
  temperature: number | null;
}

interface Chunk {
  choices?: { delta?: { content?: string | null }; message?: { content?: string | null } }[];
  error?: { message?: string } | string;
  message?: string;
}

type Send = (path: string, init: RequestInit) => Promise<Response>;

/**
 * Yields the pieces of a model's answer as they arrive, or all of it at once if the worker does not stream. Throws an Error with
 * words for people.
 */
export async function* streamChat(
  send: Send,
  endpointId: string,
  call: ChatCall,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { temperature, ...rest } = call;
  const response = await send(`/v2/${endpointId}/openai/v1/chat/completions`, {
    method: 'POST',
    signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...rest, ...(temperature === null ? {} : { temperature }), stream: true }),
  });
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (!response.ok || !isStream || response.body === null) {
    const text = await response.text();
    const answer = parse(text);
    if (!response.ok || errorOf(answer) !== null) throw new Error(inWords(response.status, errorOf(answer)));
    const content = answer?.choices?.[0]?.message?.content;
    if (typeof content !== 'string') throw new Error('The worker’s answer is no chat completion.');
    yield content;
    return;
  }
  for await (const { data } of readEvents(response.body)) {
    if (data === '[DONE]') return;
    const chunk = parse(data);
    const error = errorOf(chunk);
    if (error !== null) throw new Error(inWords(500, error));
    const content = chunk?.choices?.[0]?.delta?.content;
    if (content) yield content;
  }
}

function parse(text: string): Chunk | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? (value as Chunk | null) : null;
  } catch {
    return null;
  }
}

function errorOf(chunk: Chunk | null): string | null {
  const error = chunk?.error;
  if (!error) return null;
  return typeof error === 'string' ? error : (error.message ?? 'unknown error');
}

/** Says what to do about an error, with the server's own words. */
function inWords(status: number, detail: string | null): string {
  const said = detail === null ? '' : ` ${detail.charAt(0).toUpperCase()}${detail.slice(1).replace(/\.$/, '')}.`;
  if (status === 401 || status === 403) return `This key may not send requests to the endpoint.${said}`;
  if (status === 404) return `The worker does not know this model or route.${said}`;
  if (status === 429) return `Too many requests at the moment; try again soon.${said}`;
  if (status === 503) return `The server cannot take the request now; try again.${said}`;
  if (status === 504) return `The answer took longer than the endpoint’s time limit.${said}`;
  if (status === 400 || status === 422) return `The worker refused the request.${said}`;
  return `The worker failed.${said}`;
}

interface ListedModel {
  id: string;
  owned_by: string;
}

/** Returns the models that an endpoint's workers list, from the list of all models. */
export function modelsOf(list: readonly ListedModel[], endpoint: { id: string; name: string }): string[] {
  return list
    .filter(({ id, owned_by }) => owned_by === endpoint.name && id !== endpoint.name && id !== endpoint.id)
    .map(({ id }) => id);
}
