import { expect, test } from 'vitest';
import { type ChatCall, modelsOf, streamChat } from './chat.ts';

const CALL: ChatCall = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], temperature: null };
const events = (...data: string[]) =>
  new Response(data.map((one) => `data: ${one}\n\n`).join(''), { headers: { 'content-type': 'text/event-stream' } });
const delta = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });

async function chat(response: Response, call = CALL) {
  const pieces: string[] = [];
  let sent: { path: string; body: Record<string, unknown> } | undefined;
  const send = async (path: string, init: RequestInit) => {
    sent = { path, body: JSON.parse(init.body as string) };
    return response;
  };
  for await (const piece of streamChat(send, 'e1', call, new AbortController().signal)) pieces.push(piece);
  return { pieces, sent };
}

test('an answer is streamed piece by piece', async () => {
  const { pieces, sent } = await chat(
    events('{"choices":[{"delta":{"role":"assistant"}}]}', delta('Hel'), delta('lo'), '[DONE]', delta('x')),
  );
  expect(pieces).toEqual(['Hel', 'lo']);
  expect(sent).toEqual({
    path: '/v2/e1/openai/v1/chat/completions',
    body: { model: 'm', messages: CALL.messages, stream: true },
  });
});

test('a temperature is sent only if one is set', async () => {
  expect((await chat(events('[DONE]'), { ...CALL, temperature: 0 })).sent!.body.temperature).toBe(0);
});

test('a worker that does not stream gives its answer at once', async () => {
  const { pieces } = await chat(Response.json({ choices: [{ message: { content: 'Hello' } }] }));
  expect(pieces).toEqual(['Hello']);
});

test.each([
  [
    404,
    '{"error":{"message":"the model does not exist"}}',
    'The worker does not know this model or route. The model does not exist.',
  ],
  [429, '{"error":{"message":"slow down."}}', 'Too many requests at the moment; try again soon. Slow down.'],
  [403, '{"error":{"message":"access denied"}}', 'This key may not send requests to the endpoint. Access denied.'],
  [504, '{}', 'The answer took longer than the endpoint’s time limit.'],
  [500, '<html>', 'The worker failed.'],
  [400, '{"error":"no messages"}', 'The worker refused the request. No messages.'],
])('a refusal with %d is put into words', async (status, body, words) => {
  await expect(chat(new Response(body, { status }))).rejects.toThrow(words);
});

test('an error within the stream ends it', async () => {
  await expect(chat(events(delta('Hel'), '{"error":{"message":"CUDA out of memory"}}'))).rejects.toThrow(
    'The worker failed. CUDA out of memory.',
  );
});

test('what is no completion is an error, not an empty answer', async () => {
  await expect(chat(Response.json({ text: 'Hello' }))).rejects.toThrow('is no chat completion');
});

test('the models of an endpoint are those that it lists itself', () => {
  const model = (id: string, owned_by: string) => ({ id, owned_by });
  const list = [model('llm', 'llm'), model('meta/llama', 'llm'), model('other', 'other'), model('e1', 'llm')];
  expect(modelsOf(list, { id: 'e1', name: 'llm' })).toEqual(['meta/llama']);
});
