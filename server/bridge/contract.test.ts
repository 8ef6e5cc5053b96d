/** Every code example of the contract "Reliability & error recovery", as written there. */
import { expect, test, vi } from 'vitest';
import type { Agent } from './agent.ts';
import { error, realPi } from './real-pi.ts';

/** What the examples write to, in place of the terminal. */
const terminal = () => {
	const process = { stdout: { write: vi.fn<(text: string) => boolean>() } };
	const console = { warn: vi.fn<(text: string) => void>(), error: vi.fn<(text: string) => void>() };
	const written = () => process.stdout.write.mock.calls.map(([text]) => text).join('');
	return { process, console, written };
};

async function autoRetry(agent: Agent, { process, console }: ReturnType<typeof terminal>) {
	for await (const ev of agent.prompt('Run the full test suite.')) {
		switch (ev.type) {
			case 'text':
				process.stdout.write(ev.text);
				break;

			case 'auto_retry_start':
				console.warn(
					`[retry] attempt ${ev.attempt}/${ev.maxAttempts} — ` +
						`waiting ${ev.delayMs / 1000}s after: ${ev.errorMessage}`,
				);
				break;

			case 'auto_retry_end':
				if (!ev.success) {
					console.error(`[retry] failed after ${ev.attempt} attempts: ${ev.finalError}`);
				}
				break;
		}
	}
}

test.concurrent('auto-retry: observable in the stream', async () => {
	await using pi = await realPi(
		({ attempt }) => (attempt <= 3 ? error(attempt === 2 ? 503 : 429) : [{ text: 'All green.' }]),
		{ retry: { baseDelayMs: 100 } },
	);
	const output = terminal();
	const { console, written } = output;

	await autoRetry(pi.agent, output);

	expect(console.warn.mock.calls.map(([line]) => line)).toEqual([
		expect.stringMatching(/^\[retry\] attempt 1\/3 — waiting 0.1s after: .*scripted 429/),
		expect.stringMatching(/^\[retry\] attempt 2\/3 — waiting 0.2s after: .*scripted 503/),
		expect.stringMatching(/^\[retry\] attempt 3\/3 — waiting 0.4s after: .*scripted 429/),
	]);
	expect(console.error).not.toHaveBeenCalled();
	expect(written()).toBe('All green.');
});

test.concurrent('auto-retry: exhausted', async () => {
	await using pi = await realPi(() => error(503), { retry: { baseDelayMs: 40 } });

	const output = terminal();
	const { console } = output;

	await autoRetry(pi.agent, output);

	expect(console.warn).toHaveBeenCalledTimes(3);
	expect(console.error.mock.calls).toEqual([
		[expect.stringMatching(/^\[retry\] failed after 3 attempts: .*scripted 503/)],
	]);
});

test.concurrent(
	'disabling auto-retry: the first failure ends the sequence at once, and asks',
	async () => {
		await using pi = await realPi(({ attempt }) => (attempt === 1 ? error(429) : [{ text: 'ok' }]));
		const { agent } = pi;
		const askUser = vi.fn<(question: string) => Promise<boolean>>(() => Promise.resolve(true));

		const { process } = terminal();

		await agent.setAutoRetry(false);

		for await (const ev of agent.prompt('Deploy the application.')) {
			if (ev.type === 'text') process.stdout.write(ev.text);

			if (ev.type === 'auto_retry_end' && !ev.success) {
				// auto-retry is off, so this fires immediately on the first failure
				const shouldRetry = await askUser('API error. Retry?');
				if (shouldRetry) {
					await agent.setAutoRetry(true); // re-enable for the next prompt
				}
			}
		}

		expect(askUser).toHaveBeenCalledTimes(1);
		expect(pi.provider.requests).toHaveLength(1);
		expect(pi.events.some((event) => event.type === 'auto_retry_start')).toBe(false);
		expect((await agent.state()).autoRetry).toBe(true);
	},
);

test.concurrent('aborting a retry in progress: fails at once with `success: false`', async () => {
	await using pi = await realPi(() => error(429));
	const { agent } = pi;
	const stream = agent.prompt('Deploy the application.');

	for await (const ev of stream) {
		if (ev.type === 'auto_retry_start') {
			// User clicks "Cancel retry"
			await agent.abortRetry();
		}
		if (ev.type === 'auto_retry_end') expect(ev.success).toBe(false);
	}

	expect(pi.events.filter((event) => event.type === 'auto_retry_end')).toHaveLength(1);
	expect(pi.provider.requests).toHaveLength(1);

	// No-op when no retry is pending.
	expect(await agent.abortRetry()).toEqual([]);
});

test.concurrent('aborting a bash command: marked as errored, and Pi goes on', async () => {
	await using pi = await realPi(({ messages }) =>
		messages.at(-1)!.role === 'user'
			? [{ toolCall: { name: 'bash', arguments: { command: 'echo begun; sleep 60' } } }]
			: [{ text: 'The build was stopped.' }],
	);
	const { agent } = pi;
	const { process, written } = terminal();
	const hideStopButton = vi.fn<() => void>();
	const showStopButton = vi.fn<(onclick: () => Promise<void>) => void>(
		(onclick) => void pi.until('tool_update', ({ text }) => text.includes('begun')).then(onclick),
	);

	// Show a stop button while Pi is running bash
	const stream = agent.prompt('Run the build.');
	let bashRunning = false;

	for await (const ev of stream) {
		if (ev.type === 'tool_start' && ev.toolName === 'bash') {
			bashRunning = true;
			showStopButton(() => agent.abortBash());
		}
		if (ev.type === 'tool_end' && ev.toolName === 'bash') {
			bashRunning = false;
			hideStopButton();
		}
		if (ev.type === 'text') process.stdout.write(ev.text);
	}

	expect(bashRunning).toBe(false);
	expect(showStopButton).toHaveBeenCalledTimes(1);
	expect(hideStopButton).toHaveBeenCalledTimes(1);
	expect(pi.events.find((event) => event.type === 'tool_end')).toMatchObject({
		isError: true,
		outcome: 'stopped',
		text: 'begun\n',
	});
	expect(written()).toBe('The build was stopped.');

	// Safe to call speculatively.
	await agent.abortBash();
});
