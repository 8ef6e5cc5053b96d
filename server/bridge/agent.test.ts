/** Prompts, queue and dialogs of {@link Agent}, on the real Pi. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PiError } from './agent.ts';
import { call, error, GATE, inTurn, LOOKING, realPi } from './real-pi.ts';

const ANSWER = [{ text: 'the answer' }];
const ASKING = `export default (pi) => pi.on('tool_call', async (event, ctx) => {
	if (!(await ctx.ui.confirm('Run it?', event.input.command))) return { block: true, reason: 'No.' };
});`;

test.concurrent(
	'prompts in a row are streamed each from its own start to its own end',
	async () => {
		await using pi = await realPi(inTurn([{ thinking: 'hm' }, ...ANSWER], [{ text: 'and more' }]));

		for (const [text, answer] of [
			['One.', 'the answer'],
			['Two.', 'and more'],
		] as const) {
			const events = await pi.run(text);
			expect(events[0]).toEqual({ type: 'run_start' });
			expect(events[1]).toMatchObject({ type: 'user_message', text });
			expect(events.find(({ type }) => type === 'message_end')).toMatchObject({
				text: answer,
				stopReason: 'stop',
				model: 'script',
			});
			expect(events.at(-1)).toEqual({ type: 'agent_settled', aborted: false });
		}
		expect(pi.seen('thinking')).toMatchObject([{ text: 'hm', block: 0 }]);
		await pi.until('stats');
		expect(pi.seen('stats')[0]).toMatchObject({ contextPercent: expect.any(Number), cost: 0 });
	},
);

test.concurrent('a prompt streams over tools and queued messages to the one end', async () => {
	await using pi = await realPi(inTurn(GATE, ANSWER));
	const running = pi.run('Go.');
	await pi.until('tool_start');
	expect(await pi.agent.steer('Mind this.')).toBe('queued');
	expect(await pi.agent.followUp('Then that.')).toBe('queued');
	expect(await pi.agent.state()).toMatchObject({ busy: true, queued: 2 });
	pi.open();

	const events = await running;

	expect(pi.provider.requests.map(({ messages }) => messages.at(-1)!.text)).toEqual([
		'Go.',
		'Mind this.',
		'Then that.',
	]);
	expect(events.filter(({ type }) => type === 'user_message')).toHaveLength(3);
	expect(pi.seen('tool_call')).toMatchObject([{ toolName: 'bash' }]);
	expect(pi.seen('tool_start')).toMatchObject([
		{ toolName: 'bash', by: 'agent', args: { command: expect.stringContaining('open') } },
	]);
	expect(pi.seen('tool_end')).toMatchObject([{ text: '', outcome: 'done', isError: false }]);
	expect(pi.seen('agent_settled')).toHaveLength(1);
	expect(await pi.agent.state()).toMatchObject({ busy: false, queued: 0 });
});

test.concurrent(
	'leaving the loop early leaves Pi at work, and the next prompt waits its turn',
	async () => {
		await using pi = await realPi(inTurn(GATE, ANSWER));
		for await (const event of pi.agent.prompt('One.')) if (event.type === 'tool_start') break;

		const second = pi.run('Two.');
		await pi.until('queue_update', ({ steering }) => steering.includes('Two.'));
		pi.open();

		expect((await second).at(-1)).toEqual({ type: 'agent_settled', aborted: false });
		expect(pi.provider.requests.map(({ messages }) => messages.at(-1)!.text)).toEqual([
			'One.',
			'Two.',
		]);
		expect(pi.seen('agent_settled')).toHaveLength(1);
	},
);

test.concurrent(
	'a prompt carries its id and its images, also when Pi changes its text',
	async () => {
		await using pi = await realPi(
			inTurn(ANSWER),
			{},
			{
				files: { '.pi/prompts/review.md': 'Review the project.' },
				flags: ['--approve'],
			},
		);
		const small = { data: png(1, 1), mimeType: 'image/png' };
		const large = { data: png(3_000, 1), mimeType: 'image/png' };

		await pi.agent.submit('Look.', { images: [small], promptId: 'p1' });
		await pi.agent.submit('And here.', { images: [large], promptId: 'p2', when: 'followUp' });
		await pi.agent.submit('/review', { promptId: 'p3', when: 'followUp' });
		await pi.until('user_message', ({ promptId }) => promptId === 'p3');

		expect(pi.seen('user_message')).toMatchObject([
			{ text: 'Look.', promptId: 'p1', images: [small] },
			// Pi made it smaller, and says so to the model.
			{ text: expect.stringMatching(/^And here\.\n\n\[Image: /), promptId: 'p2' },
			{ text: 'Review the project.', promptId: 'p3', images: [] },
		]);
	},
);

test.concurrent('the queue can be taken back', async () => {
	await using pi = await realPi(inTurn(GATE, ANSWER));
	const running = pi.run('Go.');
	await pi.until('tool_start');
	await pi.agent.followUp('Then that.', { promptId: 'p1' });
	await pi.agent.steer('Mind this.');

	const returned = await pi.agent.clearQueue();
	pi.open();

	expect(returned).toEqual([
		{ id: expect.any(String), text: 'Mind this.' },
		{ id: 'p1', text: 'Then that.' },
	]);
	expect(pi.seen('queue_returned')).toEqual([{ type: 'queue_returned', messages: returned }]);
	expect(pi.seen('queue_update').at(-1)).toMatchObject({ steering: [], followUp: [] });
	await running;
	expect(pi.seen('user_message')).toHaveLength(1);
});

test.concurrent('aborting gives the queue back; a prompt sent meanwhile is a new run', async () => {
	await using pi = await realPi(inTurn(call('bash', { command: 'echo begun; sleep 60' }), ANSWER));
	const running = pi.run('Go.');
	await pi.until('tool_update', ({ text }) => text.includes('begun'));
	await pi.agent.followUp('Then that.');

	const aborted = pi.agent.abort();
	const next = pi.agent.followUp('Rather this.');

	expect((await running).at(-1)).toEqual({ type: 'agent_settled', aborted: true });
	await aborted;
	expect(await next).toBe('started');
	await pi.until('agent_settled', (event) => !event.aborted);
	expect(pi.seen('queue_returned')).toMatchObject([{ messages: [{ text: 'Then that.' }] }]);
	expect(pi.provider.requests.at(-1)!.messages.at(-1)!.text).toBe('Rather this.');
	expect((await pi.agent.state()).queued).toBe(0);
});

test.concurrent('a prompt can be stopped as soon as it was sent', async () => {
	await using pi = await realPi(inTurn([{ hang: true }]), {}, { extension: LOOKING });

	const running = pi.run('Go.');
	await pi.agent.abort();

	expect((await running).at(-1)).toEqual({ type: 'agent_settled', aborted: true });
});

test.concurrent('a dialog of an extension opens, is answered and closes', async () => {
	await using pi = await realPi(
		inTurn(call('bash', { command: 'echo yes' }), call('bash', { command: 'echo no' }), ANSWER),
		{},
		{ extension: ASKING },
	);
	pi.agent.subscribe((event) => {
		if (event.type !== 'dialog_open') return;
		pi.agent.answer(event.dialog.id, { confirmed: event.dialog.message === 'echo yes' });
	});

	await pi.run('Go.');

	expect(pi.seen('dialog_open').map(({ dialog }) => dialog)).toEqual([
		{ id: expect.any(String), method: 'confirm', title: 'Run it?', message: 'echo yes' },
		{ id: expect.any(String), method: 'confirm', title: 'Run it?', message: 'echo no' },
	]);
	expect(pi.seen('dialog_closed').map(({ dialogId }) => dialogId)).toEqual(
		pi.seen('dialog_open').map(({ dialog }) => dialog.id),
	);
	expect(pi.seen('tool_end')).toMatchObject([
		{ outcome: 'done', text: 'yes\n' },
		{ outcome: 'failed', text: 'No.' },
	]);
});

test.concurrent(
	'aborting closes an open dialog, which would keep Pi from ending the run',
	async () => {
		await using pi = await realPi(
			inTurn([...call('bash', { command: 'echo 1' }), ...call('bash', { command: 'echo 2' })]),
			{},
			{ extension: ASKING },
		);
		const running = pi.run('Go.');
		const { dialog } = await pi.until('dialog_open');

		await pi.agent.abort();

		expect((await running).at(-1)).toEqual({ type: 'agent_settled', aborted: true });
		expect(pi.seen('dialog_closed')).toEqual([{ type: 'dialog_closed', dialogId: dialog.id }]);
		expect(pi.seen('tool_end').map(({ isError }) => isError)).toEqual([true, true]);
	},
);

test.concurrent('a dialog that Pi answers itself after a time is told as closed', async () => {
	await using pi = await realPi(
		inTurn(ANSWER),
		{},
		{
			extension: `export default (pi) => pi.registerCommand('ask', { handler: async (args, ctx) => {
				const answer = await ctx.ui.input('Name?', 'any', { timeout: 300 });
				ctx.ui.notify(args + ': ' + answer, 'warning');
			} });`,
		},
	);

	// A prompt that is a command of an extension has an end too.
	await pi.run('/ask name');

	const { dialog } = await pi.until('dialog_open');
	expect(dialog).toMatchObject({ method: 'input', placeholder: 'any', timeoutMs: 300 });
	await pi.until('dialog_closed', ({ dialogId }) => dialogId === dialog.id);
	expect(pi.seen('notice')).toEqual([
		{ type: 'notice', level: 'warning', text: 'name: undefined' },
	]);
	expect(pi.provider.requests).toEqual([]);
});

test.concurrent('a prompt that Pi refuses throws in its words', async () => {
	const home = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
	const env = { PATH: process.env['PATH'], HOME: home, PI_OFFLINE: '1' };
	await using pi = await realPi(inTurn(ANSWER), {}, { env });

	expect(await pi.agent.models()).toEqual([]);
	await expect(pi.run('Go.')).rejects.toThrow(PiError);
	await expect(pi.agent.submit('Go.')).rejects.toThrow('No API key');
	rmSync(home, { recursive: true });
});

test.concurrent('an error that is not to be retried ends the run without a retry', async () => {
	await using pi = await realPi(inTurn(error(429), error(401, 'bad key')), {
		retry: { baseDelayMs: 40 },
	});

	await pi.run('Go.');

	expect(pi.seen('attempt_failed').map(({ retryable }) => retryable)).toEqual([true, false]);
	expect(pi.seen('auto_retry_end')).toEqual([
		{
			type: 'auto_retry_end',
			success: false,
			attempt: 1,
			finalError: expect.stringContaining('bad key'),
			reason: 'exhausted',
		},
	]);
});

/** A black picture, in base64. */
function png(width: number, height: number) {
	const chunk = (type: string, data: Buffer) => {
		const body = Buffer.concat([Buffer.from(type), data]);
		const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
		length.writeUInt32BE(data.length);
		sum.writeUInt32BE(crc32(body));
		return Buffer.concat([length, body, sum]);
	};
	const header = Buffer.alloc(13);
	header.writeUInt32BE(width, 0);
	header.writeUInt32BE(height, 4);
	header.set([8, 2], 8);
	return Buffer.concat([
		Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
		chunk('IHDR', header),
		chunk('IDAT', deflateSync(Buffer.alloc((1 + 3 * width) * height))),
		chunk('IEND', Buffer.alloc(0)),
	]).toString('base64');
}
