/** What the bridge relies on of the real Pi's retries and queues; see pi-facts.test.ts. */
import { expect, test } from 'vitest';
import type { ModelRequest } from '../demo/provider.ts';
import { error, inTurn, LOOKING, QUICK } from './real-pi.ts';
import { bash, followUp, prompt, rawPi } from './raw-pi.ts';

const ANSWER = [{ text: 'the answer' }];
/** For waits that are not waited for. */
const LONG = { retry: { baseDelayMs: 8_000 } };
const texts = ({ messages }: ModelRequest) => messages.map(({ text }) => text);

test.concurrent('2: with retries off Pi ends the run and says nothing of retries', async () => {
	await using raw = await rawPi(() => error(429), { retry: { enabled: false } });

	await raw.pi.ask(prompt('Go.'));
	await raw.settled(1);

	expect(raw.order().slice(-4)).toEqual(['message_end', 'turn_end', 'agent_end', 'agent_settled']);
	expect(raw.of('message_end').at(-1)!['message']).toMatchObject({
		role: 'assistant',
		stopReason: 'error',
		errorMessage: expect.stringContaining('scripted 429'),
	});
	expect(raw.of('agent_end')).toMatchObject([{ willRetry: false }]);
	expect(raw.order().filter((type) => type.startsWith('auto_retry'))).toEqual([]);
});

test.concurrent(
	'3: agent_end comes before auto_retry_start, and agent_settled is the end',
	async () => {
		await using raw = await rawPi(inTurn(error(429), bash('true'), error(503), ANSWER), QUICK);

		await raw.pi.ask(prompt('Go.'));
		await raw.settled(1);

		const shown = [
			'agent_start',
			'agent_end',
			'auto_retry_start',
			'auto_retry_end',
			'agent_settled',
		];
		const order = raw.order().filter((type) => shown.includes(type) || type.startsWith('tool_'));
		expect(order).toEqual([
			'agent_start',
			'agent_end',
			'auto_retry_start',
			'agent_start',
			// Success is told at the first good message, before its tools run, and the numbers start anew.
			'auto_retry_end',
			'tool_execution_start',
			'tool_execution_end',
			'agent_end',
			'auto_retry_start',
			'agent_start',
			'auto_retry_end',
			'agent_end',
			'agent_settled',
		]);
		expect(raw.of('agent_end').map((record) => record['willRetry'])).toEqual([true, true, false]);
		expect(raw.of('auto_retry_start').map((record) => record['attempt'])).toEqual([1, 1]);

		// A failed attempt vanishes from the messages, and stays in the entries, followed by its edit.
		const { messages } = await raw.pi.ask({ type: 'get_messages' });
		expect(messages.filter(({ role }) => role === 'assistant')).toHaveLength(2);
		const { entries } = await raw.pi.ask({ type: 'get_entries' });
		const failed = entries.findIndex(
			(entry) => entry.type === 'message' && entry.message.role === 'assistant',
		);
		expect(entries[failed + 1]).toMatchObject({
			type: 'context_edit',
			targetId: entries[failed]!.id,
			replacement: null,
		});
	},
);

test.concurrent(
	"4: set_auto_retry writes the user's settings, and the state does not tell",
	async () => {
		await using raw = await rawPi(inTurn([{ hang: true }]));
		await raw.pi.ask(prompt('Go.'));
		await raw.requested(1);

		await raw.pi.ask({ type: 'set_auto_retry', enabled: false });
		const state = await raw.pi.ask({ type: 'get_state' });

		expect(JSON.stringify(state)).not.toMatch(/retry/i);
		// Closing stdin ends Pi in good order, also in mid-run.
		expect(await raw.pi.close()).toMatchObject({ code: 0, signal: null });
		expect(JSON.parse(raw.settings())).toMatchObject({ retry: { enabled: false } });
	},
);

test.concurrent(
	'5, 6: only abort ends an attempt under way, and Pi then tells a success',
	async () => {
		await using raw = await rawPi(inTurn(error(429), [{ hang: true }]), QUICK);
		await raw.pi.ask(prompt('Go.'));
		await raw.requested(2);

		await raw.pi.ask({ type: 'abort_retry' });
		expect((await raw.pi.ask({ type: 'get_state' })).isStreaming).toBe(true);
		expect(raw.of('auto_retry_end')).toEqual([]);
		await raw.pi.ask({ type: 'abort' });

		expect(raw.of('auto_retry_end')).toEqual([
			{ type: 'auto_retry_end', success: true, attempt: 1 },
		]);
		expect(raw.of('agent_settled')).toEqual([{ type: 'agent_settled', aborted: true }]);
	},
);

test.concurrent(
	'6: abort_retry ends the wait, abort the wait and the run; a prompt must say how to queue',
	async () => {
		await using raw = await rawPi(() => error(429), LONG);
		await raw.pi.ask(prompt('Go.'));
		await raw.until('auto_retry_start');
		expect((await raw.pi.ask({ type: 'get_state' })).isStreaming).toBe(true);
		await expect(raw.pi.ask(prompt('More.'))).rejects.toThrow('already processing');

		await raw.pi.ask({ type: 'abort_retry' });
		await raw.settled(1);
		await raw.pi.ask(prompt('Again.'));
		await raw.until('auto_retry_start', () => raw.of('auto_retry_start').length > 1);
		await raw.pi.ask({ type: 'abort' });

		expect(raw.of('auto_retry_end')).toEqual(
			Array(2).fill({
				type: 'auto_retry_end',
				success: false,
				attempt: 1,
				finalError: 'Retry cancelled',
			}),
		);
		expect(raw.of('agent_settled').map((record) => record['aborted'])).toEqual([false, true]);
		expect(raw.provider.requests).toHaveLength(2);
	},
);

test.concurrent(
	'7: cancelling with a follow-up queued sends the request again; clearing first does not',
	async () => {
		await using raw = await rawPi(inTurn(error(429), ANSWER, ANSWER, error(429), ANSWER), LONG);
		await raw.pi.ask(prompt('Go.'));
		await raw.until('auto_retry_start');
		await raw.pi.ask(followUp('Then that.'));
		await raw.pi.ask({ type: 'abort_retry' });
		await raw.settled(1);

		expect(raw.provider.requests.map(texts)).toEqual([
			['Go.'],
			['Go.'],
			['Go.', 'the answer', 'Then that.'],
		]);

		await raw.pi.ask(prompt('Again.'));
		await raw.until('auto_retry_start', () => raw.of('auto_retry_start').length > 1);
		await raw.pi.ask(followUp('Never.'));
		const [cleared] = await Promise.all([
			raw.pi.ask({ type: 'clear_queue' }),
			raw.pi.ask({ type: 'abort_retry' }),
		]);
		await raw.settled(2);

		expect(cleared).toEqual({ steering: [], followUp: ['Never.'] });
		expect(raw.provider.requests).toHaveLength(4);
	},
);

test.concurrent(
	'7: abort leaves queued messages behind, which run after the next prompt',
	async () => {
		await using raw = await rawPi(inTurn([{ hang: true }], ANSWER));
		await raw.pi.ask(prompt('Go.'));
		await raw.requested(1);
		await raw.pi.ask(followUp('Left behind.'));
		await raw.pi.ask({ type: 'abort' });
		expect((await raw.pi.ask({ type: 'get_state' })).pendingMessageCount).toBe(1);

		await raw.pi.ask(prompt('Next.'));
		await raw.settled(2);

		expect(texts(raw.provider.requests.at(-1)!).slice(-3)).toEqual([
			'Next.',
			'the answer',
			'Left behind.',
		]);
	},
);

test.concurrent(
	'an abort that comes while an extension looks at a prompt does not stop it',
	async () => {
		await using raw = await rawPi(inTurn(ANSWER), {}, { extension: LOOKING });

		const sent = raw.pi.ask(prompt('Go.'));
		await raw.until('extension_ui_request', ({ message }) => message === 'looking');
		await raw.pi.ask({ type: 'abort' });
		await sent;

		expect(await raw.settled(1)).toEqual({ type: 'agent_settled', aborted: false });
		expect(raw.provider.requests).toHaveLength(1);
	},
);

test.concurrent(
	'8: a cancelled retry goes on by agent_before_settle, a failed run by a hidden message',
	async () => {
		await using raw = await rawPi(
			inTurn(bash('echo x'), error(429), error(401), ANSWER),
			{},
			{
				extension: `export default (pi) => {
			let again = true;
			pi.on('agent_before_settle', (event) => {
				if (!again) return;
				again = false;
				return { entries: [...event.entries], continue: true };
			});
			pi.registerCommand('again', { handler: async () => pi.sendMessage(
				{ customType: 'hidden', content: '', display: false }, { triggerTurn: true },
			) });
			pi.on('context', (event) => ({
				messages: event.messages.filter(({ customType }) => customType !== 'hidden'),
			}));
		};`,
			},
		);
		await raw.pi.ask(prompt('Go.'));
		await raw.until('auto_retry_start');
		await raw.pi.ask({ type: 'abort_retry' });
		await raw.settled(1);
		expect(raw.provider.requests).toHaveLength(3);
		await raw.pi.ask(prompt('/again'));
		await raw.settled(2);

		const [, ...same] = raw.provider.requests;
		expect(same).toHaveLength(3);
		expect(same[0]!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
		expect(same[1]!.messages).toEqual(same[0]!.messages);
		expect(same[2]!.messages).toEqual(same[0]!.messages);
		expect(raw.of('tool_execution_start')).toHaveLength(1);
		const { entries } = await raw.pi.ask({ type: 'get_entries' });
		expect(entries.filter(({ type }) => type === 'custom_message')).toHaveLength(1);
	},
);

test.concurrent("9: the project's settings win, once the project is trusted", async () => {
	const files = { '.pi/settings.json': JSON.stringify({ retry: { enabled: false } }) };
	await using raw = await rawPi(() => error(429), {}, { files, flags: ['--approve'] });
	await using untrusting = await rawPi(() => error(429), QUICK, { files });

	await raw.pi.ask({ type: 'set_auto_retry', enabled: true });
	await raw.pi.ask(prompt('Go.'));
	await untrusting.pi.ask(prompt('Go.'));
	await raw.settled(1);
	await untrusting.settled(1);

	expect(raw.provider.requests).toHaveLength(1);
	expect(untrusting.provider.requests).toHaveLength(4);
	await raw.pi.close();
	expect(JSON.parse(raw.settings())).toMatchObject({ retry: { enabled: true } });
});

test.concurrent("what is retried is decided by the error's text, and vetoed by it", async () => {
	await using raw = await rawPi(
		inTurn(error(429, 'quota exceeded'), error(400, 'timeout'), ANSWER),
		QUICK,
	);

	await raw.pi.ask(prompt('Quota.'));
	await raw.settled(1);
	expect(raw.provider.requests).toHaveLength(1);
	await raw.pi.ask(prompt('Time-out.'));
	await raw.settled(2);
	expect(raw.provider.requests).toHaveLength(3);
});
