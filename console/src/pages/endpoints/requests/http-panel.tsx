import { ActionIcon, Button, Group, Select, SimpleGrid, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { BASE_URL, requestAny } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { formatDuration } from '../../../ui/text/format.ts';
import { PayloadText } from '../jobs/payload-view.tsx';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { allowsBody, FIRST_CALL, type HttpCall, type HttpResult, headerFault, METHODS, sendHttp } from './http-call.ts';
import { RequestHistory, useHistoryOf } from './request-history-panel.tsx';
import { CallSamples, ResponseBox } from './request-parts.tsx';
import { httpSamples } from './samples.ts';

/** Sends a request to a load-balancing endpoint, and shows the response as it arrives. */
export function HttpPanel({ endpoint }: { endpoint: Endpoint }) {
  const history = useHistoryOf(endpoint.id);
  const [call, setCall] = useState(FIRST_CALL);
  const { result, error, isSending, send, cancel } = useHttpCall(endpoint.id, history.add);
  const isValid = call.path.startsWith('/') && call.headers.every((header) => headerFault(header) === null);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack>
        <CallFields call={call} onChange={setCall} />
        <Group>
          <Button onClick={() => send(call)} loading={isSending} disabled={!isValid}>
            Send request
          </Button>
          {isSending && (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          )}
        </Group>
        {error && <ErrorAlert error={error} />}
        <ResponseBox>
          {result === null ? (
            <Hint>
              {isSending
                ? 'Sent. The request waits until a worker is ready.'
                : 'The response appears here. The request waits until a worker is ready.'}
            </Hint>
          ) : (
            <Result result={result} isSending={isSending} />
          )}
        </ResponseBox>
      </Stack>
      <Stack>
        <CallSamples samples={httpSamples(BASE_URL, endpoint, call)} />
        <RequestHistory
          endpointId={endpoint.id}
          requests={history.requests}
          onUse={(request) => request.kind === 'http' && setCall(request.call)}
          onClear={history.clear}
        />
      </Stack>
    </SimpleGrid>
  );
}

/** One request at a time. A response that began before it was cancelled stays. */
function useHttpCall(endpointId: string, onSent: ReturnType<typeof useHistoryOf>['add']) {
  const [result, setResult] = useState<HttpResult | null>(null);
  const controller = useRef<AbortController | null>(null);
  const sending = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async (call: HttpCall) => {
      setResult(null);
      const at = Date.now();
      const own = new AbortController();
      controller.current = own;
      const outcome = (text: string, ms: number | null) => onSent({ kind: 'http', at, call, outcome: text, ms });
      try {
        const options = { signal: own.signal, onProgress: setResult };
        const whole = await sendHttp(requestAny, endpointId, call, options);
        setResult(whole);
        outcome(own.signal.aborted ? 'Cancelled' : String(whole.status), whole.ms);
      } catch (error) {
        outcome(own.signal.aborted ? 'Cancelled' : 'Failed', null);
        if (!own.signal.aborted) throw error;
      }
    },
  });
  return {
    result,
    error: sending.error,
    isSending: sending.isPending,
    send: sending.mutate,
    cancel: () => controller.current?.abort(),
  };
}

function CallFields({ call, onChange }: { call: HttpCall; onChange: (call: HttpCall) => void }) {
  return (
    <>
      <Group align="start" wrap="nowrap">
        <Select
          label="Method"
          w={120}
          allowDeselect={false}
          data={METHODS}
          value={call.method}
          onChange={(method) => onChange({ ...call, method: method ?? 'GET' })}
        />
        <TextInput
          label="Path"
          flex={1}
          value={call.path}
          error={call.path.startsWith('/') ? null : 'Begins with /'}
          onChange={(event) => onChange({ ...call, path: event.currentTarget.value })}
        />
      </Group>
      <HeaderFields headers={call.headers} onChange={(headers) => onChange({ ...call, headers })} />
      {allowsBody(call.method) && (
        <Textarea
          label="Body"
          description="Sent as JSON, unless a Content-Type header says otherwise"
          value={call.body}
          onChange={(event) => onChange({ ...call, body: event.currentTarget.value })}
          autosize
          minRows={4}
          maxRows={20}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
      )}
    </>
  );
}

function HeaderFields(props: { headers: HttpCall['headers']; onChange: (headers: HttpCall['headers']) => void }) {
  const { headers, onChange } = props;
  const set = (at: number, change: Partial<HttpCall['headers'][number]>) =>
    onChange(headers.map((header, n) => (n === at ? { ...header, ...change } : header)));
  return (
    <Stack gap={6}>
      {headers.map((header, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: fields keep their place while one types
        <Group key={n} gap="xs" align="start" wrap="nowrap">
          <TextInput
            aria-label={`Name of header ${n + 1}`}
            placeholder="Header"
            flex={1}
            value={header.name}
            error={headerFault(header)}
            onChange={(event) => set(n, { name: event.currentTarget.value })}
          />
          <TextInput
            aria-label={`Value of header ${n + 1}`}
            placeholder="Value"
            flex={2}
            value={header.value}
            onChange={(event) => set(n, { value: event.currentTarget.value })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={`Remove header ${n + 1}`}
            onClick={() => onChange(headers.filter((_, other) => other !== n))}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ))}
      <Group>
        <Button
          variant="subtle"
          size="compact-sm"
          ml={-8}
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => onChange([...headers, { name: '', value: '' }])}
        >
          Add header
        </Button>
      </Group>
    </Stack>
  );
}

function Result({ result, isSending }: { result: HttpResult; isSending: boolean }) {
  const { status, headers, text, ms, workerId, isPartial } = result;
  return (
    <Stack gap="xs">
      <Text size="sm">
        Status {status} in {formatDuration(ms)}
        {workerId ? ` from worker ${workerId}` : ''}
        {isPartial && (isSending ? ' · receiving' : ' · not complete')}
      </Text>
      {text !== '' && <PayloadText title="Body" text={text} fileName="response.txt" />}
      <details>
        <Text component="summary" size="xs" c="dimmed">
          {headers.length} headers
        </Text>
        <Text size="xs" className="payload" component="pre" m={0} ff="monospace">
          {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
        </Text>
      </details>
    </Stack>
  );
}
