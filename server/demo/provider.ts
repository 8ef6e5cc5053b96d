import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

/** A message as a model API receives it. `content` is flattened to its text. */
export interface ChatMessage {
	role: string;
	text: string;
	toolCallId?: string;
	toolCalls: { id: string; name: string; arguments: string }[];
}

/** One request that reached the provider. */
export interface ModelRequest {
	/** Pi's session, or '' when Pi was not started by Holdfast in its demo. */
	session: string;
	/** 1 for the first request with this conversation, 2 when the same one comes again, and so on. */
	attempt: number;
	/** The conversation without the system prompt. */
	messages: ChatMessage[];
	/** Milliseconds on this process's monotonic clock. */
	receivedAt: number;
}

/** One thing an answer does. Text is streamed word by word, `pace` ms apart. */
export type Step =
	| { text: string; pace?: number }
	| { thinking: string; pace?: number }
	| { toolCall: { name: string; arguments: Record<string, unknown> } }
	/** Stays silent for so many milliseconds. */
	| { wait: number }
	/** Breaks the connection off. */
	| { drop: true }
	/** Sends nothing more and keeps the connection open. */
	| { hang: true }
	/** Sends bytes that are no event stream. */
	| { garbage: string };

/** What the provider answers: an HTTP error, or a stream of steps. */
export type Reply = { status: number; type: string; message: string } | Step[];

export interface Provider {
	/** To be used as the `baseUrl` of an OpenAI-compatible API. */
	url: string;
	/** Every request so far, oldest first. */
	requests: ModelRequest[];
	close(): Promise<void>;
}

const PACE_MS = 18;

/**
 * Starts a scripted model API on a free loopback port: OpenAI-compatible chat completions over
 * real HTTP, with real error codes, dropped connections and silence. What it answers is up to `play`.
 */
export async function startProvider(play: (request: ModelRequest) => Reply): Promise<Provider> {
	const requests: ModelRequest[] = [];
	const last = new Map<string, { conversation: string; attempt: number }>();
	let calls = 0;

	const server = createServer(async (message, response) => {
		try {
			const request = await read(message, last);
			requests.push(request);
			const reply = play(request);
			if (Array.isArray(reply))
				await stream(response, reply, () => `call_${process.pid}_${++calls}`);
			else refuse(response, reply);
		} catch (error) {
			response.writeHead(400, { 'content-type': 'application/json' });
			response.end(JSON.stringify({ error: { type: 'invalid_request', message: String(error) } }));
		}
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
		requests,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

async function read(
	message: IncomingMessage,
	last: Map<string, { conversation: string; attempt: number }>,
): Promise<ModelRequest> {
	const receivedAt = performance.now();
	const body = JSON.parse(await readText(message)) as { messages: RawMessage[] };
	const session = String(message.headers['x-holdfast-session'] ?? '');
	const messages = body.messages
		.filter(({ role }) => role !== 'system' && role !== 'developer')
		.map(flatten);

	const conversation = createHash('sha256').update(JSON.stringify(messages)).digest('hex');
	const before = last.get(session);
	const attempt = before?.conversation === conversation ? before.attempt + 1 : 1;
	last.set(session, { conversation, attempt });

	return { session, attempt, messages, receivedAt };
}

interface RawMessage {
	role: string;
	content?: string | { type: string; text?: string }[] | null;
	tool_call_id?: string;
	tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

const flatten = (message: RawMessage): ChatMessage => ({
	role: message.role,
	text:
		typeof message.content === 'string'
			? message.content
			: (message.content ?? []).map((part) => part.text ?? '').join(''),
	...(message.tool_call_id === undefined ? {} : { toolCallId: message.tool_call_id }),
	toolCalls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
});

function refuse(
	response: ServerResponse,
	reply: { status: number; type: string; message: string },
) {
	response.writeHead(reply.status, { 'content-type': 'application/json' });
	response.end(
		JSON.stringify({ error: { type: reply.type, code: reply.type, message: reply.message } }),
	);
}

async function stream(response: ServerResponse, steps: Step[], nextCall: () => string) {
	let gone = false;
	response.on('close', () => (gone = true));
	const send = (choice: object, usage?: object) =>
		response.write(
			`data: ${JSON.stringify({ id: 'demo', object: 'chat.completion.chunk', created: 0, model: 'demo', choices: [{ index: 0, ...choice }], usage })}\n\n`,
		);
	const words = async (field: string, text: string, pace = PACE_MS) => {
		for (const word of text.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? []) {
			if (gone) return;
			send({ delta: { [field]: word } });
			if (pace > 0) await sleep(pace);
		}
	};

	// An API that hangs often does so before its first byte: the headers go with the first of them.
	let called = 0;
	let length = 0;
	for (const step of steps) {
		if (gone) return;
		if (!response.headersSent && !('wait' in step || 'hang' in step || 'drop' in step)) {
			response.writeHead(200, { 'content-type': 'text/event-stream' });
			send({ delta: { role: 'assistant', content: '' } });
		}

		if ('text' in step) {
			length += step.text.length;
			await words('content', step.text, step.pace);
		} else if ('thinking' in step) await words('reasoning_content', step.thinking, step.pace);
		else if ('toolCall' in step) {
			const { name, arguments: args } = step.toolCall;
			const call = { index: called++, id: nextCall(), type: 'function' };
			send({ delta: { tool_calls: [{ ...call, function: { name, arguments: '' } }] } });
			send({
				delta: {
					tool_calls: [{ index: call.index, function: { arguments: JSON.stringify(args) } }],
				},
			});
		} else if ('wait' in step) await sleep(step.wait);
		else if ('garbage' in step) response.write(step.garbage);
		else if ('hang' in step) return;
		else {
			// Let what was sent reach the other side first, so that it is a drop in the middle.
			await sleep(50);
			return void response.destroy();
		}
	}

	if (gone) return;
	send(
		{ delta: {}, finish_reason: called > 0 ? 'tool_calls' : 'stop' },
		{
			prompt_tokens: 1_200,
			completion_tokens: Math.ceil(length / 4),
			total_tokens: 1_200 + Math.ceil(length / 4),
		},
	);
	response.end('data: [DONE]\n\n');
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
