import { Alert, Button, Group, NumberInput, Paper, Select, Stack, Text, Textarea } from '@mantine/core';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { messageOf } from '../../../api/api-error.ts';
import { requestAny } from '../../../api/client.ts';
import { Hint } from '../../../ui/hint.tsx';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { type ChatMessage, streamChat } from './chat.ts';

/** A conversation with a model that the endpoint's workers serve. Nothing of it is kept. */
export function ChatPanel({ endpoint, models }: { endpoint: Endpoint; models: readonly string[] }) {
  const [model, setModel] = useState(models[0]!);
  const [system, setSystem] = useState('');
  const [temperature, setTemperature] = useState<number | null>(null);
  const chat = useChat(endpoint.id);
  const send = (text: string) => chat.send({ model, system, temperature }, text);
  return (
    <Stack>
      <Group align="start" gap="sm">
        <Select
          label="Model"
          data={[...models]}
          value={model}
          onChange={(value) => setModel(value ?? models[0]!)}
          allowDeselect={false}
          searchable={models.length > 8}
          w={320}
          maw="100%"
        />
        <NumberInput
          label="Temperature"
          placeholder="Default"
          min={0}
          max={2}
          step={0.1}
          decimalScale={2}
          value={temperature ?? ''}
          onChange={(value) => setTemperature(typeof value === 'number' ? value : null)}
          w={120}
        />
        <Textarea
          label="System prompt"
          placeholder="None"
          value={system}
          onChange={(event) => setSystem(event.currentTarget.value)}
          autosize
          minRows={1}
          maxRows={6}
          flex={1}
          miw="min(14rem, 100%)"
        />
      </Group>
      <Conversation messages={chat.messages} isAnswering={chat.isAnswering} />
      {chat.error !== null && (
        <Alert color="red" role="alert" title="No answer">
          <Text size="sm" className="reason">
            {chat.error}
          </Text>
        </Alert>
      )}
      <Composer
        isAnswering={chat.isAnswering}
        canClear={chat.messages.length > 0}
        onSend={send}
        onStop={chat.stop}
        onClear={chat.clear}
      />
    </Stack>
  );
}

interface Settings {
  model: string;
  system: string;
  temperature: number | null;
}

/** One answer at a time. One that is stopped keeps what has come. */
function useChat(endpointId: string) {
  const [messages, setMessages] = useState<readonly ChatMessage[]>([]);
  const [error, setError] = useState<string | null>(null);
  const [isAnswering, setAnswering] = useState(false);
  const controller = useRef<AbortController | null>(null);
  useEffect(() => () => controller.current?.abort(), []);

  async function send({ model, system, temperature }: Settings, text: string): Promise<void> {
    const own = new AbortController();
    controller.current = own;
    const asked: ChatMessage[] = [...messages, { role: 'user', content: text }];
    setMessages(asked);
    setError(null);
    setAnswering(true);
    const prompt: ChatMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
    let answer = '';
    try {
      const call = { model, temperature, messages: [...prompt, ...asked] };
      for await (const piece of streamChat(requestAny, endpointId, call, own.signal)) {
        answer += piece;
        if (!own.signal.aborted) setMessages([...asked, { role: 'assistant', content: answer }]);
      }
    } catch (failure) {
      if (!own.signal.aborted) setError(messageOf(failure));
    }
    if (controller.current === own) setAnswering(false);
  }

  return {
    ...{ messages, error, isAnswering, send },
    stop: () => controller.current?.abort(),
    clear: () => {
      controller.current?.abort();
      setMessages([]);
      setError(null);
    },
  };
}

function Conversation({ messages, isAnswering }: { messages: readonly ChatMessage[]; isAnswering: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each piece scrolls
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' }); // newer browsers return a promise, which is not a clean-up function
  }, [messages]);
  const isWaiting = isAnswering && messages.at(-1)?.role === 'user';
  return (
    <Paper withBorder p="md" mih={220} className="chat" role="log" aria-label="Conversation" tabIndex={0}>
      {messages.length === 0 && <Hint>Ask the model something. If no worker is running, one starts first.</Hint>}
      {messages.map(({ role, content }, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only appended
        <div key={n} className={`chat-message chat-${role}`}>
          <Text size="xs" fw={600} c="dimmed">
            {role === 'user' ? 'You' : 'Model'}
          </Text>
          <Text size="md" className="reason">
            {content}
          </Text>
        </div>
      ))}
      {isWaiting && <Hint>Waiting for the first words…</Hint>}
      <div ref={end} />
    </Paper>
  );
}

interface ComposerProps {
  isAnswering: boolean;
  canClear: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
  onClear: () => void;
}

function Composer({ isAnswering, canClear, onSend, onStop, onClear }: ComposerProps) {
  const [text, setText] = useState('');
  const canSend = text.trim() !== '' && !isAnswering;
  function submit() {
    if (!canSend) return;
    onSend(text);
    setText('');
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  }
  return (
    <Stack gap="xs">
      <Textarea
        aria-label="Message"
        placeholder="Message, sent with Enter"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        autosize
        minRows={2}
        maxRows={10}
      />
      <Group>
        {isAnswering ? (
          <Button variant="default" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button onClick={submit} disabled={!canSend}>
            Send
          </Button>
        )}
        {canClear && (
          <Button variant="subtle" color="gray" onClick={onClear}>
            New conversation
          </Button>
        )}
      </Group>
    </Stack>
  );
}
