/** Retries of {@link Agent}, on the real Pi: the ordinary course, switched off, cancelled, stopped. */
import { expect, test } from 'vitest';
import type { AgentEvent } from './agent.ts';
import { error, GATE, inTurn, QUICK, realPi } from './real-pi.ts';

const OFF = { retry: { enabled: false } };
/** For waits that are not waited for. */
const LONG = { retry: { baseDelayMs: 8_000 } };
const ANSWER = [{ text: 'the answer' }];
const types = (events: AgentEvent[]) => events.map(({ type }) => type);

test.concurrent('retries are on by default: 3 attempts, after 2, 4 and 8 s', async () => {
	await using pi = await realPi(inTurn(error(429), error(503), error(429), ANSWER));

	await pi.run('Go.');

	expect(pi.seen('auto_retry_start')).toMatchObject([
		{ attempt: 1, maxAttempts: 3, delayMs: 2_000 },
		{ attempt: 2, maxAttempts: 3, delayMs: 4_000 },
		{ attempt: 3, maxAttempts: 3, delayMs: 8_000 },
	]);
	const at = pi.provider.requests.map(({ receivedAt }) => receivedAt);
	const waits = at.slice(1).map((time, index) => time - at[index]!);
	for (const [index, delay] of [2_000, 4_000, 8_000].entries()) {
		expect(waits[index]).toBeGreaterThan(delay - 20);
	}
	expect(pi.seen('auto_retry_end')).toEqual([
		{ type: 'auto_retry_end', success: true, attempt: 3 },
	]);
});

test.concurrent('a prompt streams every attempt and ends with agent_settled', async () => {
	await using pi = await realPi(inTurn(error(429), error(503), ANSWER), QUICK);

	const events = await pi.run('Go.');

	expect(types(events).filter((type) => type !== 'text')).toEqual([
		'run_start',
		'user_message',
		'message_start',
		'attempt_failed',
		'auto_retry_start',
		'auto_retry_attempt_start',
		'run_start',
		'message_start',
		'attempt_failed',
		'auto_retry_start',
		'auto_retry_attempt_start',
		'run_start',
		'message_start',
		'message_end',
		'auto_retry_end',
		'agent_settled',
	]);
	expect(events).toContainEqual({ type: 'auto_retry_end', success: true, attempt: 2 });
	expect(pi.seen('auto_retry_start')).toMatchObject([
		{ attempt: 1, maxAttempts: 3, delayMs: 40 },
		{ attempt: 2, maxAttempts: 3, delayMs: 80 },
	]);
});

test.concurrent(
	'the text of an attempt that broke off is marked as such and is not in the answer',
	async () => {
		await using pi = await realPi(
			inTurn([{ text: 'The failed attempt.' }, { drop: true }], ANSWER),
			QUICK,
		);

		await pi.run('Go.');

		const [failed, final] = [pi.seen('attempt_failed')[0]!, pi.seen('message_end')[0]!];
		const textOf = (id: string) =>
			pi
				.seen('text')
				.map(({ messageId, text }) => (messageId === id ? text : ''))
				.join('');
		expect(failed.retryable).toBe(true);
		expect(failed.messageId).not.toBe(final.messageId);
		expect(textOf(failed.messageId)).toBe('The failed attempt.');
		expect(textOf(final.messageId)).toBe('the answer');
		expect(final.text).toBe('the answer');
	},
);

test.concurrent('one prompt can hold several sequences, each with its own end', async () => {
	await using pi = await realPi(
		inTurn(
			error(429),
			[{ toolCall: { name: 'bash', arguments: { command: 'true' } } }],
			error(503),
			ANSWER,
		),
		QUICK,
	);

	await pi.run('Go.');

	expect(pi.seen('auto_retry_start').map(({ attempt }) => attempt)).toEqual([1, 1]);
	expect(pi.seen('auto_retry_end')).toEqual([
		{ type: 'auto_retry_end', success: true, attempt: 1 },
		{ type: 'auto_retry_end', success: true, attempt: 1 },
	]);
});

test.concurrent('aborting while the retried request hangs is never told as a success', async () => {
	await using pi = await realPi(inTurn(error(429), [{ hang: true }]), QUICK);
	const running = pi.run('Go.');
	await pi.requested(2);

	await pi.agent.abort();

	const events = await running;
	expect(pi.seen('auto_retry_end')).toEqual([
		expect.objectContaining({ success: false, attempt: 1, reason: 'stopped' }),
	]);
	expect(events.at(-1)).toEqual({ type: 'agent_settled', aborted: true });
});

test.concurrent('aborting during the wait ends the sequence and the run', async () => {
	await using pi = await realPi(() => error(429), LONG);
	const running = pi.run('Go.');
	await pi.until('auto_retry_start');

	await pi.agent.abort();

	const events = await running;
	expect(pi.seen('auto_retry_end')).toEqual([
		expect.objectContaining({ success: false, attempt: 1, reason: 'stopped' }),
	]);
	expect(events.at(-1)).toEqual({ type: 'agent_settled', aborted: true });
	expect(pi.provider.requests).toHaveLength(1);
});

test.concurrent(
	'with auto-retry off each prompt is one request, and the settings file stays as it was',
	async () => {
		await using pi = await realPi(() => error(429));
		const before = pi.settings();
		await pi.agent.setAutoRetry(false);

		await pi.run('First.');
		await pi.run('Second.');

		expect(pi.provider.requests).toHaveLength(2);
		expect(pi.seen('auto_retry_start')).toEqual([]);
		expect(pi.seen('auto_retry_end')).toEqual(
			Array(2).fill({
				type: 'auto_retry_end',
				success: false,
				attempt: 0,
				finalError: expect.stringContaining('scripted 429'),
				reason: 'off',
			}),
		);
		expect((await pi.agent.state()).autoRetry).toBe(false);
		expect(pi.settings()).toBe(before);
	},
);

test.concurrent(
	'with auto-retry off a queued follow-up comes back instead of sending the request again',
	async () => {
		await using pi = await realPi(inTurn(GATE, error(429), ANSWER));
		await pi.agent.setAutoRetry(false);
		const running = pi.run('Go.');
		await pi.until('tool_start');
		await pi.agent.followUp('And then this.');
		pi.open();

		await running;

		expect(pi.seen('queue_returned')).toMatchObject([{ messages: [{ text: 'And then this.' }] }]);
		await expectNextRequest(pi, 3);
	},
);

test.concurrent(
	'switched off during a wait, the wait goes on and no further one begins',
	async () => {
		await using pi = await realPi(() => error(429), { retry: { baseDelayMs: 300 } });
		const running = pi.run('Go.');
		await pi.until('auto_retry_start');

		await pi.agent.setAutoRetry(false);

		await running;
		expect(pi.provider.requests).toHaveLength(2);
		expect(pi.seen('auto_retry_start')).toHaveLength(1);
		expect(pi.seen('auto_retry_end')).toMatchObject([
			{ success: false, attempt: 1, reason: 'off' },
		]);
	},
);

test.concurrent.for([
	['the user', OFF, {}],
	[
		'the project',
		{},
		{ files: { '.pi/settings.json': JSON.stringify(OFF) }, flags: ['--approve'] },
	],
] as const)(
	'with retries off in the settings of %s, only those can change it',
	async ([, settings, options]) => {
		await using pi = await realPi(inTurn(error(429), error(401), ANSWER), settings, {
			...options,
			flags: [...('flags' in options ? options.flags : [])],
		});
		const before = pi.settings();
		expect((await pi.agent.state()).autoRetry).toBe(false);

		await pi.run('Rate limit.');
		expect(pi.seen('auto_retry_end')).toMatchObject([
			{ success: false, attempt: 0, reason: 'off' },
		]);

		// Pi would not retry this one anyway, so there is no sequence to end.
		await pi.run('Sign-in.');
		expect(pi.seen('attempt_failed').at(-1)).toMatchObject({ retryable: false });
		expect(pi.seen('auto_retry_end')).toHaveLength(1);

		await expect(pi.agent.setAutoRetry(true)).rejects.toThrow(/"retry": \{ "enabled": false \}/);
		expect((await pi.agent.state()).autoRetry).toBe(false);
		expect(pi.provider.requests).toHaveLength(2);
		expect(pi.settings()).toBe(before);
	},
);

test.concurrent('with no retries allowed by the settings the first failure is final', async () => {
	await using pi = await realPi(() => error(429), { retry: { maxRetries: 0 } });

	await pi.run('Go.');

	expect(pi.seen('auto_retry_end')).toMatchObject([
		{ success: false, attempt: 0, reason: 'exhausted' },
	]);
});

test.concurrent.for(['followUp', 'steer'] as const)(
	'cancelling a retry is for good, also with a queued %s',
	async (when) => {
		await using pi = await realPi(inTurn(error(429), ANSWER), LONG);
		const running = pi.run('Go.');
		await pi.until('auto_retry_start');
		await pi.agent[when]('Queued.');

		const returned = await pi.agent.abortRetry();

		await running;
		expect(returned).toEqual([{ id: expect.any(String), text: 'Queued.' }]);
		expect(pi.seen('queue_returned')).toEqual([{ type: 'queue_returned', messages: returned }]);
		expect(pi.seen('auto_retry_end')).toMatchObject([
			{ success: false, attempt: 1, reason: 'cancelled' },
		]);
		await expectNextRequest(pi, 2);
		expect(pi.provider.requests[1]!.messages.map(({ text }) => text)).not.toContain('Queued.');
	},
);

test.concurrent('cancelling is a no-op while Pi works and nothing waits', async () => {
	await using pi = await realPi(inTurn(GATE, ANSWER));
	const running = pi.run('Go.');
	await pi.until('tool_start');
	await pi.agent.followUp('And then this.');

	expect(await pi.agent.abortRetry()).toEqual([]);
	pi.open();

	await running;
	expect(pi.provider.requests).toHaveLength(3);
	expect(pi.seen('queue_returned')).toEqual([]);
});

test.concurrent(
	'a steer sent during the wait is shown at once in the queue and goes with the retry',
	async () => {
		await using pi = await realPi(inTurn(error(429), ANSWER), { retry: { baseDelayMs: 4_000 } });
		const running = pi.run('Go.');
		await pi.until('auto_retry_start');

		expect(await pi.agent.submit('Rather this.', { promptId: 'p1' })).toBe('queued');
		await pi.until('queue_update', ({ steering }) => steering.includes('Rather this.'));

		await running;
		expect(pi.provider.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
			['Go.'],
			['Go.', 'Rather this.'],
		]);
		expect(pi.seen('user_message').at(-1)).toMatchObject({ text: 'Rather this.', promptId: 'p1' });
		expect(pi.seen('auto_retry_end')).toMatchObject([{ success: true, attempt: 1 }]);
	},
);

test.concurrent('off holds even where the wait is too short to be cancelled', async () => {
	await using pi = await realPi(inTurn(error(429), [{ hang: true }]), {
		retry: { baseDelayMs: 0 },
	});
	await pi.agent.setAutoRetry(false);

	await pi.run('Go.');

	expect(pi.seen('auto_retry_start')).toEqual([]);
	expect(pi.seen('auto_retry_end')).toMatchObject([{ success: false, attempt: 0, reason: 'off' }]);
});

/** The next request to reach the provider is the `count`th, and it is that of a new prompt. */
async function expectNextRequest(pi: Awaited<ReturnType<typeof realPi>>, count: number) {
	await pi.run('A new prompt.');
	expect(pi.provider.requests).toHaveLength(count);
	expect(pi.provider.requests.at(-1)!.messages.at(-1)!.text).toBe('A new prompt.');
}
