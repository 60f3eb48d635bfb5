// Calls the gateway and the analysis API through the packages that openapi-generator made of their documents: the
// compiler refuses what the documents do not have.
//
// Arguments: base URLs of gateway and analysis API, access key, an application.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"contract/analysis"
	"contract/gateway"
)

const phrase = "I cannot help with that."

func expect(condition bool, what ...any) {
	if !condition {
		panic(fmt.Sprint(what...))
	}
}

// The answer of a call that must succeed.
func answered[T any](answer T, response *http.Response, err error) T {
	expect(err == nil, err, " ", response)
	return answer
}

func pointer[T any](value T) *T { return &value }

type clients struct {
	gateway  *gateway.APIClient
	analysis *analysis.APIClient
	// With the access key, in the form of each.
	toGateway  context.Context
	toAnalysis context.Context
}

func connect(gatewayURL, analysisURL, key string) clients {
	toGateway := gateway.NewConfiguration()
	toGateway.Servers = gateway.ServerConfigurations{{URL: gatewayURL}}
	toAnalysis := analysis.NewConfiguration()
	toAnalysis.Servers = analysis.ServerConfigurations{{URL: analysisURL}}
	keys := map[string]gateway.APIKey{"MonitorApiKey": {Key: key}}
	return clients{
		gateway:    gateway.NewAPIClient(toGateway),
		analysis:   analysis.NewAPIClient(toAnalysis),
		toGateway:  context.WithValue(context.Background(), gateway.ContextAPIKeys, keys),
		toAnalysis: context.WithValue(context.Background(), analysis.ContextAccessToken, key),
	}
}

func request(text string) gateway.ChatCompletionRequest {
	message := gateway.NewChatMessage("user")
	message.SetContent(gateway.ChatMessageContent{String: &text})
	return *gateway.NewChatCompletionRequest("demo-small", []gateway.ChatMessage{*message})
}

func (c clients) chatAndEmbeddings() {
	files := `[{"content_base64": "aGVsbG8=", "name": "a.txt"}]`
	call := c.gateway.ChatAPI.CreateChatCompletion(c.toGateway).ChatCompletionRequest(request("hello"))
	chat := answered(call.XAttachedFiles(files).XUserId("u-generated-go").Execute())
	// Every completion fits the first of both types; what is in metadata tells them apart.
	expect(chat.BlockedCompletion.Choices[0].Message.Content != "", chat)
	expect(chat.BlockedCompletion.Metadata == nil, chat)
	for _, input := range []gateway.EmbeddingsRequestInput{
		{String: pointer("The food was good.")},
		{ArrayOfString: &[]string{"one", "two"}},
		{ArrayOfInt32: &[]int32{1, 2}},
		{ArrayOfArrayOfInt32: &[][]int32{{1, 2}, {3}}},
	} {
		body := *gateway.NewEmbeddingsRequest("demo-small", input)
		vectors := answered(c.gateway.EmbeddingsAPI.CreateEmbedding(c.toGateway).EmbeddingsRequest(body).Execute())
		expect(len(vectors.Data) > 0, vectors)
	}
	models := answered(c.gateway.ModelsAPI.ListModels(c.toGateway).Execute())
	expect(models.Data[0].Id != "", models)
	_, refused, err := c.gateway.ModelsAPI.ListModels(context.Background()).Execute()
	expect(err != nil && refused.StatusCode == http.StatusUnauthorized, err)
}

func (c clients) blocked() {
	policy := analysis.NewSyncPolicy("sync", phrase)
	made := analysis.NewApplicationToAdd("generated go")
	made.SetPolicy(analysis.PolicyInput{SyncPolicy: policy})
	adding := c.analysis.ApplicationsAPI.CreateApplication(c.toAnalysis).ApplicationToAdd(*made)
	application := answered(adding.Execute())
	expect(application.Name == "generated go", application)
	call := c.gateway.ChatAPI.CreateChatCompletion(c.toGateway).XApplicationId(application.Id)
	card := call.ChatCompletionRequest(request("My card is 4111 1111 1111 1111"))
	// A new policy is in force within a second.
	replaced := answered(card.Execute()).BlockedCompletion
	for end := time.Now().Add(10 * time.Second); replaced.Choices[0].Message.Content != phrase; {
		expect(time.Now().Before(end), replaced)
		replaced = answered(card.Execute()).BlockedCompletion
	}
	expect(replaced.Metadata.Monitor.ResponseReplacement.Type == "dataclean", replaced)
}

func (c clients) messages(application string) {
	parameters := analysis.NewAdditionalParameters()
	parameters.SetUserId("u-generated-go")
	message := analysis.NewMessage("Write to anna@example.com")
	message.SetApplicationId(application)
	message.SetAdditionalParameters(*parameters)
	api := c.analysis.AnalysisAPI
	verdict := answered(api.ProcessRequest(c.toAnalysis).Message(*message).Execute())
	expect(verdict.Dataclean.Types[0].Type == "EMAILS", verdict)
	answered(api.ProcessResponse(c.toAnalysis).Message(*message).Execute())

	folder, err := os.MkdirTemp("", "generated")
	expect(err == nil, err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "a.txt")
	expect(os.WriteFile(path, []byte("to anna@example.com"), 0o600) == nil, path)
	file, err := os.Open(path)
	expect(err == nil, err)
	records := c.analysis.RecordsAPI
	attaching := records.AttachToPrompt(c.toAnalysis, verdict.RequestId).AttachedFiles([]*os.File{file})
	attached := answered(attaching.Execute())
	expect(attached[0].Name == "a.txt", attached)
	record := answered(records.GetRecord(c.toAnalysis, verdict.RequestId).Execute())
	expect(record.Attachments[0].Sha256 == attached[0].Sha256, record)
	explained := answered(records.ExplainRecord(c.toAnalysis, verdict.RequestId).Execute())
	expect(explained.RulesUsed.RulesUsedAnyOf.Version == 1, explained)

	listing := records.ListRecords(c.toAnalysis).UserId("u-generated-go").Stage(analysis.STAGE_PRE)
	page := answered(listing.Limit(1).Execute())
	expect(len(page.Records) == 1, page)
	_, _, err = records.GetRecord(c.toAnalysis, "00000000-0000-4000-8000-000000000000").Execute()
	var refused *analysis.GenericOpenAPIError
	expect(errors.As(err, &refused), err)
	envelope, isError := refused.Model().(analysis.Error)
	expect(isError && envelope.Error.Type == analysis.ERRORTYPE_INVALID_REQUEST_ERROR, refused)
}

func main() {
	c := connect(os.Args[1], os.Args[2], os.Args[3])
	c.chatAndEmbeddings()
	c.blocked()
	c.messages(os.Args[4])
	fmt.Println("every call through the generated Go clients is right")
}
