import { Alert, Button, Code, Group, JsonInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { BASE_URL, request } from '../../api/client.ts';
import { formatDuration } from '../../ui/format.ts';
import type { Endpoint } from './endpoint-values.ts';
import { allowsBody, type HttpCall, type HttpResult, METHODS, sendHttp } from './http-call.ts';
import { CallSamples, ResponseBox } from './request-parts.tsx';
import { httpSamples } from './samples.ts';

export function HttpPanel({ endpoint }: { endpoint: Endpoint }) {
  const [call, setCall] = useState<HttpCall>({ method: 'GET', path: '/', body: '' });
  const sending = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => sendHttp(request, endpoint.id, call),
  });
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack>
        <CallFields call={call} onChange={setCall} />
        <Group>
          <Button onClick={() => sending.mutate()} loading={sending.isPending} disabled={!call.path.startsWith('/')}>
            Send request
          </Button>
        </Group>
        {sending.error && <Alert color="red">{messageOf(sending.error)}</Alert>}
        <ResponseBox>
          {sending.data ? (
            <Result result={sending.data} />
          ) : (
            <Text size="sm" c="dimmed">
              The response appears here. The request waits until a worker is ready.
            </Text>
          )}
        </ResponseBox>
      </Stack>
      <CallSamples samples={httpSamples(BASE_URL, endpoint, call)} />
    </SimpleGrid>
  );
}

function CallFields({ call, onChange }: { call: HttpCall; onChange: (call: HttpCall) => void }) {
  return (
    <>
      <Group align="end" wrap="nowrap">
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
          onChange={(event) => onChange({ ...call, path: event.currentTarget.value })}
        />
      </Group>
      {allowsBody(call.method) && (
        <JsonInput
          label="Body"
          value={call.body}
          onChange={(body) => onChange({ ...call, body })}
          autosize
          minRows={4}
        />
      )}
    </>
  );
}

function Result({ result: { status, text, ms, workerId } }: { result: HttpResult }) {
  return (
    <Stack gap="xs">
      <Text size="sm">
        Status {status} in {formatDuration(ms)}
        {workerId ? ` from worker ${workerId}` : ''}
      </Text>
      <Code block mah={360} style={{ overflow: 'auto' }} tabIndex={0}>
        {text}
      </Code>
    </Stack>
  );
}
