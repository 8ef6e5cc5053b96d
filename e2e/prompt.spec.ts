import { bash, expect, firstTurn, test } from './holdfast.ts';

test('a prompt is shown at once, answered, and gives the page its address', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start(() => [
		{ thinking: 'Let me see.' },
		{ text: 'Some **bold** words and `code`.' },
	]);
	await page.goto(url);
	await expect(page).toHaveURL(/\/$/);
	await ui.message.fill('Hello');
	await ui.message.press('Shift+Enter');
	await ui.message.pressSequentially('there');
	await ui.message.press('Enter');

	await expect(ui.prompts).toContainText(['Hello\nthere']);
	await expect(ui.message).toHaveValue('');
	await expect(ui.answers).toContainText('Some bold words and code.');
	await expect(ui.answers.locator('strong')).toHaveText('bold');
	await expect(page.getByText('Let me see.')).toBeHidden();
	await page.getByText('Thinking').click();
	await expect(page.getByText('Let me see.')).toBeVisible();
	await expect(page).toHaveURL(/\/\?session=[\w-]+$/);
	expect(provider.requests[0]!.messages.map(({ text }) => text)).toEqual(['Hello\nthere']);
});

test('a prompt as the very first act, before Pi has started, is kept and answered', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(() => [{ text: 'Early bird.', pace: 200 }]);
	// The socket is held back, so that the page cannot know its session yet.
	let connect = () => {};
	const connecting = new Promise<void>((resolve) => (connect = resolve));
	await page.routeWebSocket(/.*/, async (socket) => {
		await connecting;
		socket.connectToServer();
	});
	await page.goto(url);
	await ui.send('First!');
	await expect(ui.prompts).toContainText(['First!']);
	await expect(ui.prompts).toContainText(['sending…']);
	connect();

	await expect(ui.button('Stop')).toBeEnabled();
	await expect(ui.prompts).toContainText(['delivered']);
	await expect(ui.answers).toHaveText(['Early bird.']);
	await expect(ui.prompts).toHaveCount(1);
});

test('Stop ends a run whose model sends nothing, and works in the first run of a conversation', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(() => [{ hang: true }]);
	await page.goto(url);
	await ui.send('Anyone there?');
	await ui.button('Stop').click();
	await expect(page.getByText('stopped by you')).toBeVisible();
	await ui.rested();
});

test('while Pi works Enter steers, and "After this" waits for the end', async ({
	page,
	start,
	ui,
}) => {
	const { url, provider } = await start((request) =>
		firstTurn(request) && request.messages.length === 1
			? [bash('until [ -e go ]; do sleep 0.1; done')]
			: [{ text: `Turn ${request.messages.length}.` }],
	);
	await page.goto(url);
	await ui.send('Begin.');
	await expect(ui.button('Stop command')).toBeVisible();
	await ui.message.fill('Then the last.');
	await ui.button('After this').click();
	await ui.message.fill('Steer left.');
	await ui.message.press('Enter');

	const queue = page.getByRole('region', { name: 'Waiting messages' });
	await expect(queue.getByRole('listitem')).toHaveText([
		'next Steer left.',
		'after this Then the last.',
	]);
	await ui.send('!touch go');
	await expect(ui.prompts).toContainText(['Begin.', 'Steer left.', 'Then the last.']);
	await expect(queue).toHaveCount(0);
	await ui.rested();
	const said = provider.requests.at(-1)!.messages.filter(({ role }) => role === 'user');
	expect(said.map(({ text }) => text.split('\n')[0])).toEqual([
		'Begin.',
		'Steer left.',
		'Then the last.',
	]);
});

test('queued messages can be taken back', async ({ page, start, ui }) => {
	const { url } = await start(() => [{ hang: true }]);
	await page.goto(url);
	await ui.send('Begin.');
	await expect(ui.button('Stop')).toBeVisible();
	await ui.send('Not this.');
	await ui.button('Take back').click();
	await expect(ui.message).toHaveValue('Not this.');
	await expect(page.getByRole('region', { name: 'Waiting messages' })).toHaveCount(0);
});

test('a new conversation is empty, and the earlier one can be opened again', async ({
	page,
	start,
	ui,
}) => {
	const { url } = await start(({ messages }) => [{ text: `Heard: ${messages.at(-1)!.text}` }]);
	await page.goto(url);
	await ui.send('one');
	await expect(ui.answers).toHaveText(['Heard: one']);
	const first = page.url();

	await ui.button('New conversation').click();
	await expect(ui.prompts).toHaveCount(0);
	await ui.send('two');
	await expect(ui.answers).toHaveText(['Heard: two']);
	expect(page.url()).not.toBe(first);

	await page.getByRole('link', { name: /^one/ }).click();
	await expect(ui.answers).toHaveText(['Heard: one']);
	await page.goBack();
	await expect(ui.answers).toHaveText(['Heard: two']);
});

test('an address opens that session of Pi, also after the proxy was started again', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start((request) =>
		firstTurn(request) ? [{ text: 'I look.' }, bash('echo found')] : [{ text: 'There it is.' }],
	);
	await page.goto(holdfast.url);
	await ui.send('Look for it.');
	await expect(ui.answers).toHaveText(['I look.', 'There it is.']);
	await ui.rested();
	const address = page.url();

	await holdfast.restart();
	await page.goto('about:blank');
	await page.goto(address);
	await expect(ui.answers).toHaveText(['I look.', 'There it is.']);
	await expect(ui.prompts).toContainText(['Look for it.']);
	await expect(ui.commands).toContainText(['found']);
	await ui.send('Again.');
	await expect(ui.answers.last()).toHaveText('There it is.');
});

test('`--continue` opens the session last worked on in the folder, `--session` the one it names', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(({ messages }) => [{ text: `Heard: ${messages.at(-1)!.text}` }]);
	await page.goto(holdfast.url);
	await ui.send('the first');
	await expect(ui.answers).toHaveText(['Heard: the first']);
	await ui.rested();
	const first = new URL(page.url()).searchParams.get('session')!;
	await ui.button('New conversation').click();
	await ui.send('the last');
	await expect(ui.answers).toHaveText(['Heard: the last']);
	await ui.rested();
	await page.goto('about:blank');

	await holdfast.restart('--continue');
	await page.goto(holdfast.url);
	await expect(ui.answers).toHaveText(['Heard: the last']);

	await holdfast.restart('--session', first);
	expect(holdfast.url).toContain(first);
	await page.goto(holdfast.url);
	await expect(ui.answers).toHaveText(['Heard: the first']);
});

test('a page that was open while the proxy was restarted comes back by itself', async ({
	page,
	start,
	ui,
}) => {
	const holdfast = await start(({ messages }) => [{ text: `Heard ${messages.length}.` }]);
	await page.goto(holdfast.url);
	await ui.send('one');
	await expect(ui.answers).toHaveText(['Heard 1.']);
	await ui.rested();

	await holdfast.restart();
	await ui.send('two');
	await expect(ui.answers).toHaveText(['Heard 1.', 'Heard 3.']);
});

test('an unknown session says so, and offers a new conversation', async ({ page, start, ui }) => {
	const { url } = await start(() => [{ text: 'Hello.' }]);
	await page.goto(url.replace('#', '?session=nowhere#'));
	await expect(page.getByRole('alert')).toContainText('There is no session nowhere');
	await page.getByRole('alert').getByRole('button', { name: 'New conversation' }).click();
	await ui.send('Hello');
	await expect(ui.answers).toHaveText(['Hello.']);
});

test('two tabs on one session show the same', async ({ page, context, start, ui }) => {
	const { url } = await start(() => [{ text: 'For both of you.', pace: 60 }]);
	await page.goto(url);
	await ui.send('Hello');
	await expect(page).toHaveURL(/session=/);
	const other = await context.newPage();
	await other.goto(page.url());
	await expect(other.getByRole('log').locator('[data-role=assistant]')).toHaveText([
		'For both of you.',
	]);
	await expect(ui.answers).toHaveText(['For both of you.']);
});

test('a draft survives a reload', async ({ page, start, ui }) => {
	const { url } = await start(() => [{ text: 'Hello.' }]);
	await page.goto(url);
	await ui.message.fill('Not yet sent');
	await page.reload();
	await expect(ui.message).toHaveValue('Not yet sent');
});

test('an unreachable Pi is said with what to do', async ({ page, start, ui }) => {
	const { url, stderr } = await start(() => [{ text: 'Hello.' }], {
		flags: ['--pi', 'no-such-pi'],
	});
	await page.goto(url);
	await expect(page.getByRole('alert')).toContainText(
		'Check that the command given with --pi exists',
	);
	await expect(ui.message).toBeEditable();
	expect(stderr()).toContain('no-such-pi');
});
