// An agent over plain gRPC stubs. It takes the first of the legal actions.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "reglue/v1"
)

// act is the policy: rows for steps, then for starts, of each of the spec's actions.
// turn.Observations[i] holds rows of ends, then of steps, then of starts.
func act(spec *pb.TaskSpec, turn *pb.Turn) *pb.Actions {
	actions := &pb.Actions{}
	for _, tensor := range spec.Actions {
		var first [8]byte // zero is in every domain but some of Discrete
		binary.LittleEndian.PutUint64(first[:], uint64(tensor.GetDiscrete().GetStart()))
		element := first[:sizes[tensor.Dtype]]
		size := int(rowBytes(tensor)) * (len(turn.StepSlots) + len(turn.StartSlots))
		actions.Actions = append(actions.Actions, bytes.Repeat(element, size/len(element)))
	}
	return actions
}

func main() {
	address, token, security := place(os.Getenv("REGLUE_ADDRESS"))
	ticket := join(address, token, security)
	if ticket.Address != "" {
		address = ticket.Address
	}
	most := int(ticket.MaxMessageBytes)
	connection := must(grpc.Dial(address, security,
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most), grpc.MaxCallSendMsgSize(most))))
	session := metadata.AppendToOutgoingContext(context.Background(), "reglue-session", ticket.Session)
	stream := must(pb.NewAgentServiceClient(connection).Session(session))
	proof := hmac.New(sha256.New, ticket.Secret)
	fmt.Fprintf(proof, "reglue.v1 hello %s 0", ticket.Session) // 0: no call has been answered
	stream.Send(&pb.AgentReply{Reply: &pb.AgentReply_Hello{Hello: &pb.AgentHello{
		Major: 1, Sdk: "minimal Go", Agent: "First", PartialTurns: true, Adapts: true, Episodic: true,
		Session: ticket.Session, Proof: proof.Sum(nil)}}})
	var spec *pb.TaskSpec
	for { // of a stream that Send finds broken, Recv says why
		call, err := stream.Recv()
		if err == io.EOF {
			return
		}
		must(call, err)
		reply := &pb.AgentReply{Seq: call.Seq}
		switch routine := call.Call.(type) {
		case *pb.AgentCall_Farewell:
			stream.CloseSend()
			continue
		case *pb.AgentCall_Refusal: // neither is answered
			continue
		case *pb.AgentCall_Init:
			spec = routine.Init.Spec
			err = readable(spec)
			reply.Reply = &pb.AgentReply_Done{}
		case *pb.AgentCall_Turn:
			if err = fits(spec, routine.Turn); err == nil {
				reply.Reply = &pb.AgentReply_Actions{Actions: act(spec, routine.Turn)}
			}
		case *pb.AgentCall_Message:
			reply.Reply = &pb.AgentReply_Message{}
		case *pb.AgentCall_Freeze, *pb.AgentCall_AdaptBegin, *pb.AgentCall_Adapt, *pb.AgentCall_Cleanup:
			reply.Reply = &pb.AgentReply_Done{}
		default:
			err = fmt.Errorf("a call of a later version")
		}
		if err != nil {
			reply.Reply = &pb.AgentReply_Fault{Fault: &pb.Fault{What: err.Error()}}
		}
		stream.Send(reply)
		if err != nil {
			stream.Recv() // the farewell
			log.Fatal(err)
		}
	}
}

// place reads host:port, or a join string. If it names an authority, that alone is trusted.
func place(text string) (address, token string, security grpc.DialOption) {
	address, token, security = text, os.Getenv("REGLUE_TOKEN"), grpc.WithInsecure()
	if !strings.Contains(text, "://") {
		return
	}
	parts, err := url.Parse(text)
	if err != nil || strings.HasSuffix(text, "?") {
		log.Fatal("a join string that was cut") // err shows the token
	}
	address = parts.Host + strings.TrimSuffix(parts.Path, "/")
	entries := must(url.ParseQuery(parts.RawQuery))
	for name, values := range entries {
		switch {
		case len(values) == 1 && name == "token":
			token = values[0]
		case len(values) == 1 && name == "ca" && values[0] != "":
			trusted := x509.NewCertPool()
			der := must(base64.RawURLEncoding.DecodeString(values[0]))
			for _, authority := range must(x509.ParseCertificates(der)) {
				trusted.AddCert(authority)
			}
			security = grpc.WithTransportCredentials(credentials.NewTLS(
				&tls.Config{RootCAs: trusted, ServerName: entries.Get("name")}))
		case len(values) != 1 || name != "name":
			log.Fatal("a join string that was cut, or of a later version")
		}
	}
	return
}

// join asks for a ticket, for a minute while the glue is away or busy.
func join(address, token string, security grpc.DialOption) *pb.Ticket {
	request := &pb.JoinRequest{Major: 1, Role: pb.Role_ROLE_AGENT, Token: token, Name: "minimal"}
	for until := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		connection := must(grpc.Dial(address, security))
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		ticket, err := pb.NewLobbyServiceClient(connection).Join(limit, request)
		cancel()
		connection.Close()
		code := status.Code(err) // any other status is final, and says why
		if (code != codes.Unavailable && code != codes.ResourceExhausted) || time.Now().After(until) {
			return must(ticket, err)
		}
	}
}

var sizes = map[pb.Dtype]int{ // bytes of an element
	pb.Dtype_DTYPE_BOOL: 1, pb.Dtype_DTYPE_UINT8: 1, pb.Dtype_DTYPE_INT8: 1, pb.Dtype_DTYPE_UINT16: 2,
	pb.Dtype_DTYPE_INT16: 2, pb.Dtype_DTYPE_UINT32: 4, pb.Dtype_DTYPE_INT32: 4, pb.Dtype_DTYPE_FLOAT32: 4,
	pb.Dtype_DTYPE_UINT64: 8, pb.Dtype_DTYPE_INT64: 8, pb.Dtype_DTYPE_FLOAT64: 8}

// rowBytes is the size of a tensor's row; a float64, as a product of any shape fits into it.
func rowBytes(tensor *pb.TensorSpec) float64 {
	size := float64(sizes[tensor.Dtype])
	for _, axis := range tensor.Shape {
		size *= float64(axis)
	}
	return size
}

func readable(spec *pb.TaskSpec) error {
	for _, tensor := range append(append([]*pb.TensorSpec{}, spec.Observations...), spec.Actions...) {
		if sizes[tensor.Dtype] == 0 || rowBytes(tensor) > 1<<31 {
			return fmt.Errorf("a dtype of a later version, or a shape that no message can hold: %v", tensor)
		}
	}
	return nil
}

func fits(spec *pb.TaskSpec, turn *pb.Turn) error {
	judged := len(turn.EndSlots) + len(turn.StepSlots)
	withheld := turn.Phase == pb.Phase_PHASE_EVALUATE && !spec.GetRewardsInEvaluation()
	fit := len(turn.Observations) == len(spec.GetObservations()) && pb.Phase_name[int32(turn.Phase)] != "" &&
		(withheld || len(turn.Rewards) == 8*judged)
	for i := 0; fit && i < len(turn.Observations); i++ {
		rows := float64(judged + len(turn.StartSlots))
		fit = float64(len(turn.Observations[i])) == rows*rowBytes(spec.Observations[i])
	}
	for _, kind := range turn.EndKinds {
		fit = fit && pb.EndKind_name[int32(kind)] != ""
	}
	for _, slots := range [][]uint32{turn.EndSlots, turn.StepSlots, turn.StartSlots} {
		for _, slot := range slots {
			fit = fit && slot < spec.GetSlots()
		}
	}
	if !fit || spec == nil {
		return fmt.Errorf("a turn before init, or one that does not fit the TaskSpec")
	}
	return nil
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
