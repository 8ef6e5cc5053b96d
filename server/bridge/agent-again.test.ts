/** "Retry now" and "Try again" of {@link Agent}, on the real Pi. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PiError } from './agent.ts';
import { call, error, GATE, inTurn, realPi } from './real-pi.ts';

const LONG = { retry: { baseDelayMs: 8_000 } };
const ANSWER = [{ text: 'the answer' }];

test.concurrent(
	'retry now sends the request at once, and the numbers go on to the announced maximum',
	async () => {
		await using pi = await realPi(() => error(429), LONG);
		pi.agent.subscribe((event) => {
			if (event.type === 'auto_retry_start') void pi.agent.retryNow();
		});

		const started = performance.now();
		await pi.run('Go.');

		// Three waits were skipped; after each Pi begins its delays anew.
		expect(pi.seen('auto_retry_start').map(({ delayMs }) => delayMs)).toEqual(Array(3).fill(8_000));
		expect(performance.now() - started).toBeLessThan(20_000);
		expect(pi.provider.requests).toHaveLength(4);
		expect(pi.seen('auto_retry_start').map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
		expect(pi.seen('auto_retry_attempt_start').map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
		expect(pi.seen('auto_retry_end')).toEqual([
			{
				type: 'auto_retry_end',
				success: false,
				attempt: 3,
				finalError: expect.stringContaining('scripted 429'),
				reason: 'exhausted',
			},
		]);
		expect(pi.seen('run_start')).toHaveLength(4);
	},
);

test.concurrent(
	'retry now with a follow-up queued: the request goes out, then the follow-up',
	async () => {
		await using pi = await realPi(inTurn(error(429), ANSWER, [{ text: 'and that' }]), LONG);
		const running = pi.run('Go.');
		await pi.until('auto_retry_start');
		await pi.agent.followUp('And then this.');

		await pi.agent.retryNow();

		await running;
		expect(pi.provider.requests.map(({ messages }) => messages.map(({ text }) => text))).toEqual([
			['Go.'],
			['Go.'],
			['Go.', 'the answer', 'And then this.'],
		]);
		expect(pi.seen('auto_retry_end')).toEqual([
			{ type: 'auto_retry_end', success: true, attempt: 1 },
		]);
		expect(pi.seen('queue_returned')).toEqual([]);
	},
);

test.concurrent('retry now is a no-op when nothing waits', async () => {
	await using pi = await realPi(inTurn(GATE, ANSWER), LONG);
	const running = pi.run('Go.');
	await pi.until('tool_start');

	await pi.agent.retryNow();
	pi.open();
	await running;
	await pi.agent.retryNow();

	await pi.run('Go on.');
	expect(pi.provider.requests).toHaveLength(3);
});

test.concurrent(
	'try again after the retries were exhausted, cancelled, and after an error of sign-in',
	async () => {
		await using pi = await realPi(
			inTurn(error(429), error(429), error(429), error(401), ANSWER),
			// Long enough for a cancel to come before its end.
			{ retry: { maxRetries: 1, baseDelayMs: 3_000 } },
		);
		const settled = (count: number) =>
			pi.until('agent_settled', () => pi.seen('agent_settled').length >= count);

		await pi.run('Go.');
		expect(pi.seen('auto_retry_end').at(-1)).toMatchObject({ reason: 'exhausted', attempt: 1 });

		const waiting = pi.until('auto_retry_start', () => pi.seen('auto_retry_start').length > 1);
		await pi.agent.retry();
		await waiting;
		await pi.agent.abortRetry();
		await settled(2);
		expect(pi.seen('auto_retry_end').at(-1)).toMatchObject({ reason: 'cancelled', attempt: 1 });

		await pi.agent.retry();
		await settled(3);
		expect(pi.seen('attempt_failed').at(-1)).toMatchObject({ retryable: false });

		await pi.agent.retry();
		await settled(4);
		expect(pi.seen('message_end')).toMatchObject([{ text: 'the answer' }]);

		// Five times the same conversation, with the prompt in it once, and shown once.
		expect(pi.provider.requests).toHaveLength(5);
		for (const { messages } of pi.provider.requests) {
			expect(messages).toEqual(pi.provider.requests[0]!.messages);
		}
		expect(pi.seen('user_message')).toHaveLength(1);
		await expect(pi.agent.retry()).rejects.toThrow(PiError);
	},
);

test.concurrent('try again after a tool has run does not run it again', async () => {
	await using pi = await realPi(
		inTurn(call('bash', { command: 'echo once >> ran; cat ran' }), error(401), ANSWER),
	);
	await pi.run('Go.');

	const settled = pi.until('agent_settled', () => pi.seen('agent_settled').length > 1);
	await pi.agent.retry();
	await settled;

	const [, failed, again] = pi.provider.requests;
	expect(failed!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
	expect(again!.messages).toEqual(failed!.messages);
	expect(readFileSync(join(pi.cwd, 'ran'), 'utf8')).toBe('once\n');
	expect(pi.seen('message_end').at(-1)).toMatchObject({ text: 'the answer' });
});

test.concurrent(
	'try again is refused when nothing failed, at work, and when it was just asked for',
	async () => {
		await using pi = await realPi(inTurn(ANSWER, error(401), GATE, ANSWER));
		await expect(pi.agent.retry()).rejects.toThrow('nothing to try again');
		await pi.run('Go.');
		await expect(pi.agent.retry()).rejects.toThrow('nothing to try again');

		await pi.run('Fail.');
		const settled = pi.until('agent_settled', () => pi.seen('agent_settled').length > 2);
		const [first, second] = await Promise.allSettled([pi.agent.retry(), pi.agent.retry()]);
		expect([first!.status, second!.status]).toEqual(['fulfilled', 'rejected']);
		await pi.until('tool_start');
		await expect(pi.agent.retry()).rejects.toThrow('Pi is at work');
		pi.open();

		await settled;
		expect(pi.provider.requests).toHaveLength(4);
	},
);

test.concurrent('a "Retry now" that came too late does not undo a later cancelling', async () => {
	await using pi = await realPi(inTurn(GATE, error(429), ANSWER));
	const running = pi.run('Go.');
	await pi.until('tool_start');
	// What retryNow() tells the extension, when the wait was over before Pi heard of it.
	await pi.agent.submit('/holdfast continue');
	pi.open();
	await pi.until('auto_retry_start');

	await pi.agent.abortRetry();

	await running;
	await pi.run('A new prompt.');
	expect(pi.provider.requests).toHaveLength(3);
	expect(pi.provider.requests[2]!.messages.at(-1)!.text).toBe('A new prompt.');
});
