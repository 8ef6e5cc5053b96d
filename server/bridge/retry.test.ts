/** {@link RetrySequence} against a Pi that does whatever a real one may do, in any order of events. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AgentEvent } from './events.ts';
import { RetrySequence } from './retry.ts';

interface Step {
	/** What becomes of the request. */
	outcome: 'answer' | 'rate limit' | 'sign-in';
	/** What the person does: while the request is under way only `stop` and `off` mean anything. */
	during: 'nothing' | 'stop' | 'off';
	waiting: 'nothing' | 'cancel' | 'skip' | 'stop' | 'off' | 'on';
	/** Whether Pi hears of what was asked of it before its wait, or the request, is over. */
	heard: boolean;
}

interface Told {
	events: AgentEvent[];
	/** For each sequence of requests up to a settled Pi: whether the last one was answered. */
	answered: boolean;
}

/** One prompt, as Pi plays it (PI-FACTS 2 to 6 and 8): its records arrive in the order of Pi. */
function play(steps: Step[], maxAttempts: number, enabledInPi: boolean, enabled: boolean): Told {
	const events: AgentEvent[] = [];
	let cancelled = false;
	let aborted = false;
	const retry = new RetrySequence(
		(event) => events.push(event),
		() => (cancelled = true),
		() => (aborted = true),
	);
	retry.enabled = enabled;
	const stop = () => {
		retry.stopping();
		aborted = true;
	};
	let piAttempt = 0;
	let answered = false;

	for (const { outcome, during, waiting, heard } of steps) {
		retry.requests();
		if (during === 'stop') stop();
		if (during === 'off') retry.enabled = false;

		if (aborted && heard) {
			retry.answered(true);
			// Pi's lie.
			if (piAttempt > 0) retry.ended({ success: true });
			retry.runEnded(false, !enabledInPi);
			break;
		}
		if (outcome === 'answer') {
			answered = true;
			retry.answered(false);
			if (piAttempt > 0) retry.ended({ success: true });
			retry.runEnded(false, !enabledInPi);
			break;
		}

		const retryable = outcome === 'rate limit';
		const willRetry = retryable && enabledInPi && piAttempt < maxAttempts && !aborted;
		retry.failed(outcome, retryable);
		retry.runEnded(willRetry, !enabledInPi);
		if (!willRetry) {
			if (piAttempt > 0) retry.ended({ success: false });
			break;
		}

		cancelled = false;
		retry.waits({ attempt: ++piAttempt, maxAttempts, delayMs: 1, errorMessage: outcome });
		let goesOn = false;
		if (waiting === 'stop') stop();
		else if (waiting === 'off') retry.enabled = false;
		else if (waiting === 'on') retry.enabled = true;
		else if (waiting !== 'nothing' && retry.ask(waiting)) {
			cancelled = true;
			goesOn = waiting === 'skip';
		}
		if ((cancelled || aborted) && heard) {
			retry.ended({ success: false });
			piAttempt = 0;
			if (!goesOn || aborted) break;
		}
	}
	retry.settled();
	return { events, answered };
}

/** One of these, as often as its number says. */
const often = <T extends string | boolean>(weights: [T, number][]) =>
	fc.constantFrom(...weights.flatMap(([value, weight]) => Array<T>(weight).fill(value)));

const steps = fc.array(
	fc.record<Step>({
		outcome: often<Step['outcome']>([
			['answer', 1],
			['rate limit', 6],
			['sign-in', 1],
		]),
		during: often<Step['during']>([
			['nothing', 8],
			['stop', 1],
			['off', 1],
		]),
		waiting: often<Step['waiting']>([
			['nothing', 3],
			['skip', 4],
			['cancel', 1],
			['stop', 1],
			['off', 1],
			['on', 1],
		]),
		heard: often([
			[true, 3],
			[false, 1],
		]),
	}),
	{ minLength: 1, maxLength: 12 },
);
const mostly = often([
	[true, 4],
	[false, 1],
]);
const settings = [steps, fc.integer({ min: 0, max: 3 }), mostly, mostly] as const;
const RUNS = { numRuns: 3_000 };

test('no attempt is announced above the maximum, and the numbers go up by one', () => {
	fc.assert(
		fc.property(...settings, (list, maxAttempts, enabledInPi, enabled) => {
			let last = 0;
			for (const event of play(list, maxAttempts, enabledInPi, enabled).events) {
				if (event.type === 'auto_retry_start') {
					expect(event.attempt).toBe(last + 1);
					expect(event.attempt).toBeLessThanOrEqual(maxAttempts);
					last = event.attempt;
				} else if (event.type === 'auto_retry_attempt_start') expect(event.attempt).toBe(last);
				else if (event.type === 'auto_retry_end') last = 0;
			}
		}),
		RUNS,
	);
});

test('every start is followed by one end, which is there before Pi has settled', () => {
	fc.assert(
		fc.property(...settings, (list, maxAttempts, enabledInPi, enabled) => {
			const { events } = play(list, maxAttempts, enabledInPi, enabled);
			const kinds = events.map(({ type }) => type);

			expect(kinds.filter((type) => type === 'auto_retry_end').length).toBeLessThanOrEqual(1);
			if (kinds.length > 0) expect(kinds.at(-1)).toBe('auto_retry_end');
		}),
		RUNS,
	);
});

test('success is told when an answer came, and never otherwise', () => {
	fc.assert(
		fc.property(...settings, (list, maxAttempts, enabledInPi, enabled) => {
			const { events, answered } = play(list, maxAttempts, enabledInPi, enabled);
			const end = events.find((event) => event.type === 'auto_retry_end');

			if (!end) return;
			expect(end.success).toBe(answered);
			expect(end.reason === undefined).toBe(answered);
		}),
		RUNS,
	);
});

const RATE_LIMIT = { outcome: 'rate limit', during: 'nothing', heard: true } as const;
const ends = ({ events }: Told) => events.filter((event) => event.type === 'auto_retry_end');

test('the wait was over before Pi heard of the cancelling: the attempt is told and stopped', () => {
	const told = play(
		[
			{ ...RATE_LIMIT, waiting: 'cancel', heard: false },
			{ ...RATE_LIMIT, waiting: 'nothing' },
		],
		3,
		true,
		true,
	);

	expect(told.events).toMatchObject([
		{ type: 'auto_retry_start', attempt: 1 },
		{ type: 'auto_retry_attempt_start', attempt: 1 },
		{ type: 'auto_retry_end', success: false, attempt: 1, reason: 'stopped' },
	]);
});

test('the wait was over before Pi heard of "Retry now": no number is left out', () => {
	const told = play(
		[
			{ ...RATE_LIMIT, waiting: 'skip', heard: false },
			{ ...RATE_LIMIT, waiting: 'nothing' },
			{ ...RATE_LIMIT, waiting: 'nothing', outcome: 'answer' },
		],
		3,
		true,
		true,
	);

	const starts = told.events.filter((event) => event.type === 'auto_retry_start');
	expect(starts.map(({ attempt }) => attempt)).toEqual([1, 2]);
	expect(ends(told)).toEqual([{ type: 'auto_retry_end', success: true, attempt: 2 }]);
});

test('switched off, and Pi sent the request before it heard: stopped, and still told as off', () => {
	const told = play(
		[
			{ ...RATE_LIMIT, waiting: 'nothing', heard: false },
			{ ...RATE_LIMIT, waiting: 'nothing' },
		],
		3,
		true,
		false,
	);

	expect(told.events).toMatchObject([{ success: false, attempt: 0, reason: 'off' }]);
});

test('stopped just before Pi began to wait: told as stopped, not as cancelled', () => {
	const told = play([{ ...RATE_LIMIT, during: 'nothing', waiting: 'stop' }], 3, true, true);

	expect(ends(told)).toMatchObject([{ success: false, attempt: 1, reason: 'stopped' }]);
});

test('"Retry now", then an error that Pi would not retry, then a queued message is answered', () => {
	const events: AgentEvent[] = [];
	const nothing = () => {};
	const retry = new RetrySequence((event) => events.push(event), nothing, nothing);
	retry.requests();
	retry.failed('429', true);
	retry.runEnded(true, false);
	retry.waits({ attempt: 1, maxAttempts: 3, delayMs: 8_000, errorMessage: '429' });
	retry.ask('skip');
	retry.ended({ success: false });
	retry.requests();
	retry.failed('401', false);
	// Pi counts from 0 again, so for it this is no retry that has failed, and it says nothing.
	retry.runEnded(false, false);
	retry.requests();
	retry.answered(false);
	retry.settled();

	// The next sequence has its own numbers.
	retry.waits({ attempt: 1, maxAttempts: 3, delayMs: 2_000, errorMessage: '429' });
	expect(events.at(-1)).toMatchObject({ type: 'auto_retry_start', attempt: 1 });
	expect(events.filter(({ type }) => type === 'auto_retry_end')).toEqual([
		{
			type: 'auto_retry_end',
			success: false,
			attempt: 1,
			finalError: '401',
			reason: 'exhausted',
		},
	]);
});

test('of "Retry now" and "Cancel retry" in one moment the first counts', () => {
	const events: AgentEvent[] = [];
	const nothing = () => {};
	const retry = new RetrySequence((event) => events.push(event), nothing, nothing);
	retry.failed('429', true);
	retry.waits({ attempt: 1, maxAttempts: 3, delayMs: 8_000, errorMessage: '429' });

	expect(retry.ask('skip')).toBe(true);
	expect(retry.ask('cancel')).toBe(false);
	retry.ended({ success: false });

	expect(events.at(-1)).toMatchObject({ type: 'auto_retry_attempt_start', attempt: 1 });
});
